import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { cases } from "../support/cases.ts";
import { costlyOperation } from "../support/costly-operations.ts";
import { startDemoService, tokenOf } from "../support/demo-gateway.ts";
import { startWatched } from "../support/watched-process.ts";

/** A gateway in a process of its own, in front of the demo. */
async function start() {
  const demo = await startDemoService();
  const gateway = await startWatched(demo.url);
  onTestFinished(gateway.stop);
  return { ...gateway, token: tokenOf(demo, "ada") };
}

/** Fields and list items of an answer. JSON scalars count as one. */
function sizeOf(value: unknown, key = ""): number {
  if (typeof value !== "object" || value === null || JSON_FIELDS.has(key)) return 0;
  const parts = Object.entries(value);
  let size = parts.length;
  for (const [name, part] of parts)
    size += sizeOf(part, Array.isArray(value) ? key : name.replace(/\d+$/, ""));
  return size;
}

const JSON_FIELDS = new Set(["raw", "resources", "seed"]);

const MEGABYTE = 1_000_000;
const { MAX_RESULT_BYTES, MAX_RESULT_FIELDS } = readConfig({});

/** Measured by `npm run bench:worst`: how long the event loop is held depends on the machine. */
test("no operation is answered with more than a result may have, or leaves much behind", async () => {
  const { post, condition, token } = await start();
  await post({ query: "{ gateway { version } }" }, token);
  const { heapBytes: before } = await condition();
  const codes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(costlyOperation, async (operation) => {
      const response = await post(operation, token);
      const text = await response.text();
      const { data, errors = [] } = JSON.parse(text) as {
        data?: object;
        errors?: { message: string; extensions: { code: string } }[];
      };
      // graphql-js gives up on a document whose fields it would have to compare too often.
      const isGivenUp = errors[0]?.message === "Validation aborted.";
      for (const { extensions } of isGivenUp ? [] : errors) codes.add(extensions.code);
      expect(text.length).toBeLessThanOrEqual(MAX_RESULT_BYTES);
      expect(sizeOf(data)).toBeLessThanOrEqual(MAX_RESULT_FIELDS);
      expect(errors.length).toBeLessThanOrEqual(501);
    }),
    { numRuns: Number(process.env["WORST_RUNS"] ?? cases(10, 12)) },
  );
  expect((await condition()).heapBytes - before).toBeLessThan(100 * MEGABYTE);
  // The operations are valid ones, or the search finds nothing.
  for (const code of ["GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED", "INTERNAL_SERVER_ERROR"]) {
    expect([...codes]).not.toContain(code);
  }
});

const repeat = (part: string, count: number) => Array.from({ length: count }, () => part).join(" ");

test.each([
  [
    "valid ones",
    (index: number) =>
      `query Q${index} { ${Array.from({ length: 6 }, (_, field) => `p${field}: project(id: "a.b") { ${repeat("id", 600)} }`).join(" ")} }`,
  ],
  ["ones that name no field", (index: number) => `query Q${index} { gateway { ${repeat("none", 3_000)} } }`],
  ["ones that are cut short", (index: number) => `query Q${index} { gateway { ${repeat("version", 3_000)} `],
])("different documents are kept up to 16 MB in all: %s", async (_, documentOf) => {
  const { post, condition } = await start();
  await (await post({ query: "{ gateway { version } }" })).text();
  const { heapBytes: before } = await condition();
  for (let index = 0; index < 120; index++) await (await post({ query: documentOf(index) })).text();
  expect((await condition()).heapBytes - before).toBeLessThan(40 * MEGABYTE);
});
