import fc from "fast-check";
import { expect, test } from "vitest";
import { sizeOfJson } from "../../src/engine/json-size.ts";
import { toJsonText } from "../../src/engine/json-text.ts";

/** Values as results hold them: with what JSON leaves out, and objects that say themselves what they are. */
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.jsonValue(),
    fc.constantFrom(undefined, Number.NaN, -0, 1e21, "\u0000\u2028\uD800", { toJSON: () => [{ a: 1 }] }),
    fc.array(tie("any"), { maxLength: 5 }),
    fc.dictionary(fc.string({ unit: "binary" }), tie("any"), { maxKeys: 5, noNullPrototype: false }),
  ),
})).any;

test("what is written in pieces is what JSON.stringify writes", async () => {
  await fc.assert(
    fc.asyncProperty(value, async (any) => {
      expect(await toJsonText({ any })).toBe(JSON.stringify({ any }));
    }),
  );
});

test("a value deeper than the stack is written and measured", async () => {
  const text = "[".repeat(100_000) + "]".repeat(100_000);
  let deep: unknown[] = [];
  for (let depth = 1; depth < 100_000; depth++) deep = [deep];
  expect((await toJsonText(deep)) === text).toBe(true);
  expect(await sizeOfJson(deep, 1_000_000)).toBeGreaterThan(200_000);
});

test("a value is never measured smaller than half of what it takes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (any) => {
      const size = await sizeOfJson(any, Number.POSITIVE_INFINITY);
      expect(size * 2).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(any)));
    }),
  );
});
