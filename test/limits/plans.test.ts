import { expect, onTestFinished, test } from "vitest";
import { BUILT } from "../support/built.ts";
import { startDemoService } from "../support/demo-gateway.ts";
import { startWatched } from "../support/watched-process.ts";

const CONDITIONS = ["a", "b", "c", "d", "e"] as const;

const NAMED = "name kind description specifiedByURL isOneOf";
const NESTED = `${NAMED} ofType { ${NAMED} ofType { ${NAMED} ofType { ${NAMED} } } }`;
const VALUE = `name description defaultValue isDeprecated deprecationReason type { ${NESTED} }`;
const FIELD = `name description isDeprecated deprecationReason type { ${NESTED} } args { ${VALUE} }`;

/** A document in which each combination of conditions creates a plan with all fields. */
const document = (number: number): string => `# ${number}
  query Q(${CONDITIONS.map((name) => `$${name}: Boolean!`).join()}) {
    ${CONDITIONS.map((name) => `${name}: __typename @include(if: $${name})`).join(" ")}
    ${Array.from({ length: 15 }, (_, index) => `type${index}: __type(name: "GatewayInfo") { ${NAMED} fields { ${FIELD} } }`).join(" ")}
  }`;

/** Starts a gateway in a separate process, in front of the demo. */
async function start() {
  const demo = await startDemoService();
  const gateway = await startWatched(BUILT, demo.url);
  onTestFinished(gateway.stop);
  return gateway;
}

test("DOCUMENT_CACHE_BYTES limits the plans of short documents with many conditions", async () => {
  const { post, condition } = await start();
  const run = async (number: number): Promise<void> => {
    for (let combination = 0; combination < 2 ** CONDITIONS.length; combination++) {
      const variables = Object.fromEntries(
        CONDITIONS.map((name, bit) => [name, Math.trunc(combination / 2 ** bit) % 2 === 1]),
      );
      const answer = await post({ query: document(number), variables });
      expect(await answer.json()).toEqual({ data: expect.any(Object) });
    }
  };
  await run(0);
  const before = await condition();
  for (let number = 1; number <= 6; number++) await run(number);
  const after = await condition();
  // The configured limit is 16,000,000 bytes.
  expect(after.heapBytes - before.heapBytes).toBeLessThan(32_000_000);
});

const repeat = (part: string, count: number) => Array.from({ length: count }, () => part).join(" ");

test.each([
  [
    "valid ones",
    (index: number) =>
      `query Q${index} { ${Array.from({ length: 6 }, (_, field) => `p${field}: project(id: "a.b") { ${repeat("id", 600)} }`).join(" ")} }`,
  ],
  [
    "documents that select no field",
    (index: number) => `query Q${index} { gateway { ${repeat("none", 3_000)} } }`,
  ],
  [
    "documents that are truncated",
    (index: number) => `query Q${index} { gateway { ${repeat("version", 3_000)} `,
  ],
])("caches at most 16 MB of different documents: %s", async (_, documentOf) => {
  const { post, condition } = await start();
  await (await post({ query: "{ gateway { version } }" })).text();
  const { heapBytes: before } = await condition();
  for (let index = 0; index < 120; index++) await (await post({ query: documentOf(index) })).text();
  expect((await condition()).heapBytes - before).toBeLessThan(40_000_000);
});
