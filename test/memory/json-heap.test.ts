import { once } from "node:events";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { expect, test } from "vitest";
import { BUILT } from "../support/built.ts";
import { cases } from "../support/cases.ts";

/** Measures in a separate thread, whose small heap is otherwise unused and has no hidden classes. */
const MEASURE = `
  const { parentPort, workerData: { text, built } } = require("node:worker_threads");
  require("node:v8").setFlagsFromString("--expose-gc");
  const collect = require("node:vm").runInNewContext("gc");
  const used = () => (collect(), process.memoryUsage().heapUsed);
  (async () => {
    const { scanJson } = await import(built + "rest/api/json-scan.js");
    const { estimateHeapBytes } = await import(built + "callers/memory-budget.js");
    used();
    const before = used();
    const kept = [JSON.parse(text)];
    const heap = used() - before;
    // Scans after measuring, because optimized code uses heap as well.
    const { heapBytes } = scanJson(Buffer.from(text));
    parentPort.postMessage({ heap, scanned: heapBytes, estimated: estimateHeapBytes(kept[0]) });
  })();
`;

interface Measured {
  /** The heap that the parsed value takes, in bytes. */
  readonly heap: number;
  /** The estimates before parsing, and for the parsed value. */
  readonly scanned: number;
  readonly estimated: number;
}

async function measure(text: string): Promise<Measured> {
  const workerData = { text, built: pathToFileURL(`${BUILT}/dist/src/`).href };
  const thread = new Worker(MEASURE, { eval: true, workerData });
  // Safe: the thread sends this message.
  const [measured] = (await once(thread, "message")) as [Measured];
  await thread.terminate();
  return measured;
}

/** Length of a sample, in characters, and the bytes that other allocations may add meanwhile. */
const LENGTH = 200_000;
const NOISE = 20_000;

/** JSON that depends on the number of its item in a list: names and strings may be new in each. */
type Part = (item: number) => string;

/** A different number in every sample of a run, because a hidden class of one sample is reused for the next. */
let samples = 0;

const fixed =
  (text: string): Part =>
  () =>
    text;
const quoted = (text: string) => JSON.stringify(text);

const scalar: fc.Arbitrary<Part> = fc.oneof(
  fc
    .constantFrom(
      "null",
      "true",
      "0",
      "7",
      "-1",
      "12345",
      "1e9",
      "3e9",
      "0.5",
      "-0",
      "12345678901",
      '""',
      '"a"',
    )
    .map(fixed),
  fc.string({ maxLength: 30, unit: "grapheme" }).map((text) => fixed(quoted(text))),
  fc.constantFrom('"\\u20ac euro"', '"\\n\\n\\n"', '"pässe"', '"中文字符"').map(fixed),
  fc.nat({ max: 40 }).map((length) => (item: number) => quoted(`${item}`.padStart(length, "s"))),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => fixed(JSON.stringify(value))),
  fc.constant((item: number) => `${item / 7}`),
);

const name: fc.Arbitrary<Part> = fc.oneof(
  fc.nat({ max: 1_000 }).map((index) => fixed(`"${index}"`)),
  fc.stringMatching(/^[a-z]{1,12}$/).map((text) => fixed(`"${text}"`)),
  fc.constantFrom<Part>(
    (item) => `"n${samples}_${item}"`,
    (item) => `"é€${samples}_${item}"`,
    (item) => `"n${samples}_${item % 50}"`,
    (item) => `"${item}"`,
    (item) => `"\\u003${item % 10}"`,
    (item) => `"${item % 10}\\u003${item % 7}"`,
    (item) => `"m${Math.min(item, 1_800)}"`,
  ),
);

const part = fc.letrec<{ any: Part }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc
      .array(tie("any"), { maxLength: 5 })
      .map((parts) => (item: number) => `[${parts.map((each) => each(item)).join()}]`),
    fc
      .array(fc.tuple(name, tie("any")), { maxLength: 6 })
      .map(
        (entries) => (item: number) =>
          `{${entries.map(([key, value]) => `${key(item)}:${value(item)}`).join()}}`,
      ),
    fc
      .tuple(fc.integer({ min: 7, max: 200 }), fc.boolean(), scalar)
      .map(([count, isNew, value]) => (item: number) => {
        const names = Array.from(
          { length: count },
          (_, index) => `"k${isNew ? `${samples}_${item}_` : ""}${index}"`,
        );
        return `{${names.map((each) => `${each}:${value(item)}`).join()}}`;
      }),
  ),
})).any;

/** A list or an object with enough members to make its heap measurable. */
function textOf(each: Part, isList: boolean): string {
  samples++;
  const items: string[] = [];
  for (let length = 0; length < LENGTH;) {
    const item = isList ? each(items.length) : `"i${samples}_${items.length}":${each(items.length)}`;
    items.push(item);
    length += item.length;
  }
  return isList ? `[${items.join()}]` : `{${items.join()}}`;
}

/**
 * How many more bytes of heap a value takes than the lower estimate. Measures again up to twice, because a collection may leave some
 * garbage; an estimate that is too low stays too low.
 */
async function excessOf(text: string, tries = 3): Promise<number> {
  const { heap, scanned, estimated } = await measure(text);
  const excess = heap - Math.min(scanned, estimated);
  return excess < NOISE || tries === 1 ? excess : Math.min(excess, await excessOf(text, tries - 1));
}

test("the heap estimate for JSON of any shape is never too low", async () => {
  await fc.assert(
    fc.asyncProperty(part, fc.boolean(), async (each, isList) => {
      expect(await excessOf(textOf(each, isList))).toBeLessThan(NOISE);
    }),
    { numRuns: cases(15, 40) },
  );
});

const many = (length: number, nameAt: (index: number) => string) =>
  `{${Array.from({ length }, (_, index) => `"${nameAt(index)}":0`).join()}}`;

test.each<[string, Part]>([
  ["empty objects", fixed("{}")],
  ["empty lists", fixed("[]")],
  ["names that are indices", fixed('{"34":0}')],
  ["many names that are indices", fixed('{"0":0,"1":0,"2":0,"3":0,"4":0,"142":0}')],
  ["names that are indices with an escape", fixed('{"3\\u0034":0}')],
  ["more hidden classes than V8 makes", (item) => `{"n${Math.min(item, 1_800)}":0}`],
  ["long names", (item) => `{"${"n".repeat(1_000)}${item}":0}`],
  ["long names with a character of two bytes", (item) => `{"${"€".repeat(1_000)}${item}":0}`],
  ["numbers beside null", (item) => (item === 0 ? "null" : "3e9")],
  ["integers where another object has a fraction", (item) => `{"a":${item === 0 ? 0.5 : 0}}`],
  ["names that no other object has", (item) => `{"n${samples}_${item}":0}`],
  ["enough names to make an object a hash table", fixed(many(342, (index) => `n${index}`))],
  ["a string with a character of two bytes", fixed(`"${"a".repeat(1_000)}€"`)],
  ["a string with an escape", fixed(`"${"a".repeat(1_000)}\\u20ac"`)],
  ["short strings that differ", (item) => `"${item.toString(36)}"`],
])("the heap estimate for JSON of %s is not too low", async (_, each) => {
  expect(await excessOf(textOf(each, true))).toBeLessThan(NOISE);
});

interface Recorded {
  readonly json: { readonly results?: readonly object[] } | null;
  readonly path: string;
}

/** The items of the lists that known servers returned, by the last segment of their path. */
function recordedLists(): Map<string, object[]> {
  const lists = new Map<string, object[]>();
  for (const release of ["0.2.0-reads", "0.4.4-beyond", "0.4.4-samples", "0.4.4-further"]) {
    const lines = readFileSync(new URL(`../recordings/${release}.jsonl`, import.meta.url), "utf8")
      .trim()
      .split("\n");
    for (const line of lines) {
      // Safe: it is one of the recordings.
      const { json, path } = JSON.parse(line) as Recorded;
      const kind = /(\w+)\/?(?:\?|$)/.exec(path)?.[1] ?? "";
      lists.set(kind, [...(lists.get(kind) ?? []), ...(json?.results ?? [])]);
    }
  }
  return lists;
}

test.each(["experiments", "metrics", "statuses", "jobs", "builds", "groups", "nodes"])(
  "the heap estimate for recorded %s is at most twice the heap",
  async (kind) => {
    const recorded = (recordedLists().get(kind) ?? []).map((item) => JSON.stringify(item));
    expect(recorded).not.toEqual([]);
    const items = Array.from({ length: 5_000 }, (_, index) => recorded[index % recorded.length]);
    const text = `{"count":${items.length},"next":null,"results":[${items.join()}]}`;
    expect(await excessOf(text)).toBeLessThan(NOISE);
    const { heap, scanned } = await measure(text);
    expect(scanned).toBeLessThan(2 * heap);
  },
);
