import fc from "fast-check";
import { expect, test } from "vitest";
import { sizeOfJson } from "../../src/engine/json-size.ts";
import { toJsonText } from "../../src/engine/json-text.ts";

/** Values as results hold them, small and larger than a piece. */
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.jsonValue(),
    fc.constantFrom(-0, 1e21, "\u0000\u2028\uD800", "long ".repeat(200_000), {}, []),
    fc.array(tie("any"), { maxLength: 5 }),
    fc.tuple(tie("any"), fc.constantFrom(63, 64, 65, 6_000)).map(([any, times]) => Array(times).fill(any)),
    fc
      .tuple(tie("any"), fc.constantFrom(1, 6_000))
      .map(([any, times]) =>
        Object.fromEntries(Array.from({ length: times }, (_, index) => [`"${index}`, any])),
      ),
    fc.dictionary(fc.string({ unit: "binary" }), tie("any"), { maxKeys: 5, noNullPrototype: false }),
  ),
})).any;

const MAX_SIZE = 3_000_000;

test("what is written in pieces is what JSON.stringify writes", async () => {
  await fc.assert(
    fc.asyncProperty(value, async (any) => {
      // Copies multiply: some values would take minutes.
      fc.pre((await sizeOfJson(any, MAX_SIZE)) < MAX_SIZE);
      // As one text, which a failure does not print.
      expect((await toJsonText({ any })) === JSON.stringify({ any })).toBe(true);
    }),
  );
});

test("a value deeper than the stack is measured", async () => {
  let deep: unknown[] = [];
  for (let depth = 1; depth < 100_000; depth++) deep = [deep];
  expect(await sizeOfJson(deep, 1_000_000)).toBeGreaterThan(200_000);
});

test("a long text is measured in less time than it takes to write it", () => {
  const text = 'step 3: "loss" 0.12\n'.repeat(500_000);
  const fastest = (act: () => unknown) =>
    Math.min(
      ...[1, 2, 3].map(() => {
        const began = performance.now();
        act();
        return performance.now() - began;
      }),
    );
  const writing = fastest(() => JSON.stringify(text));
  expect(fastest(() => sizeOfJson(text, Number.POSITIVE_INFINITY))).toBeLessThan(writing);
});

test("a value is never measured smaller than half of what it takes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (any) => {
      const size = await sizeOfJson(any, Number.POSITIVE_INFINITY);
      expect(size * 2).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(any)));
    }),
  );
});
