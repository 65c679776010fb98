import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { firstCodeOf } from "../support/one-read.ts";
import TEXTS from "./json-texts.json" with { type: "json" };

/** Starts a gateway in front of a service with a configurable response. */
async function start() {
  let reported: Buffer = Buffer.from("");
  const service = await startFake(() => ({
    text: reported,
    headers: { "content-type": "application/json" },
  }));
  const { ask } = await startGateway({ upstream: service, env: { MAX_RESULT_BYTES: "100000000" } });
  return {
    /** The value that the gateway reads from the JSON of a key, or the code of the error. */
    valueOf: async (text: string | Buffer) => {
      const bytes = typeof text === "string" ? Buffer.from(text) : text;
      reported = Buffer.concat([Buffer.from('{"id": 2, "declarations": {"it": '), bytes, Buffer.from("}}")]);
      const answer = (await ask(
        `{ experiment(id: "ada.mnist.2") { it: parameter(name: "it") { value } } }`,
      )) as Answer<{
        readonly experiment: { readonly it: { readonly value: unknown } | null } | null;
      }>;
      return answer.errors ? firstCodeOf(answer) : { value: answer.data.experiment?.it?.value };
    },
  };
}

const REFUSED = [
  ...TEXTS.refused,
  Buffer.from([0x5b, 0xff, 0x5d]),
  Buffer.from("[1]", "utf16le"),
  ...["[", '{"a":', '[{"":'].map((open) => open.repeat(20_000)),
];

interface Written {
  readonly written: string;
  readonly value: unknown;
}

const written = (value: unknown): Written => ({ written: JSON.stringify(value), value });

describe("an upstream response", () => {
  test("is read if it is JSON, and otherwise causes UPSTREAM_BAD_RESPONSE", async () => {
    const { valueOf } = await start();
    for (const text of TEXTS.read) expect(await valueOf(text)).toEqual({ value: JSON.parse(text) });
    for (const text of REFUSED) expect([text, await valueOf(text)]).toEqual([text, "UPSTREAM_BAD_RESPONSE"]);
  });

  test("keeps integers everywhere, and is parsed once despite millions of digits", async () => {
    const { valueOf } = await start();
    const [kept, digits] = ["-9007199254740993", "1".repeat(3_000_000)];
    const reported = "rawJSON" in JSON ? Number(kept) : kept;
    for (let at = 0; at < 16; at++)
      for (const [before, after] of [
        ["[", ","],
        ["[0,", "]"],
        ['{"a":[', "]}"],
        ["", ""],
      ] as const) {
        const list = before + " ".repeat(at) + kept + (after === "," ? ",1]" : after);
        const value: unknown = JSON.parse(list.replace(kept, JSON.stringify(reported)));
        expect([list, await valueOf(list)]).toEqual([list, { value }]);
      }
    for (const text of [`"${digits}"`, `0.${digits}`])
      expect(await valueOf(text)).toEqual({ value: JSON.parse(text) });
  });

  test.each([
    ["9.9 million letters", "x".repeat(9_900_000)],
    ["backslashes", "\\\\".repeat(1_000_000)],
    ["NaN", "NaN ".repeat(600_000)],
    ["300,000 escapes", '\\"x'.repeat(300_000)],
  ])("with NaN beside a long string is parsed only once: %s", async (_, text) => {
    const { valueOf } = await start();
    expect(await valueOf(`{ "text": "${text}", "number": NaN }`)).toEqual({
      value: { text: JSON.parse(`"${text}"`) as string, number: null },
    });
    // If the time grew with the square of the length, no test would end.
    expect(await valueOf(`[NaN, "${text}`)).toBe("UPSTREAM_BAD_RESPONSE");
  });

  test("keeps integers and strings exact, and has null for non-finite numbers", async () => {
    const { valueOf } = await start();
    const WORDS = ["NaN", "-NaN", "Infinity", "-Infinity"];
    const leaf = fc.oneof(
      fc.oneof(fc.string(), fc.constantFrom(...WORDS, '\\"NaN', "\\")).map(written),
      fc.integer().map(written),
      fc
        .double({ noNaN: true, noDefaultInfinity: true, min: -1, max: 1, minExcluded: true })
        // JSON has no -0.
        .map((value) => written(value + 0)),
      fc.bigInt().map((value) => {
        const isKept = Number.isSafeInteger(Number(value));
        // Before Node.js 21, such a number is a string.
        return { written: `${value}`, value: isKept || "rawJSON" in JSON ? Number(value) : `${value}` };
      }),
      fc.constantFrom(...WORDS).map((word) => ({ written: word, value: null })),
    );
    const tree = fc.letrec<{ any: Written }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie("any"), { maxLength: 5 }).map((items) => ({
          written: `[${items.map((item) => item.written).join(",")}]`,
          value: items.map(({ value }) => value),
        })),
        fc
          .dictionary(fc.constantFrom(...WORDS, "a", '"'), tie("any"), { noNullPrototype: true })
          .map((keys) => ({
            written: `{${Object.entries(keys)
              .map(([key, item]) => `${JSON.stringify(key)}: ${item.written}`)
              .join(", ")}}`,
            value: Object.fromEntries(Object.entries(keys).map(([key, item]) => [key, item.value])),
          })),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(tree.any, async ({ written: text, value }) => {
        expect(await valueOf(text)).toEqual({ value });
      }),
      { numRuns: cases(100, 1_000) },
    );
  });
});
