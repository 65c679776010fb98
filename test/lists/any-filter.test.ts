import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { codesOf } from "../support/errors.ts";
import { listIn } from "../support/listed.ts";
import { readFilter, type Condition } from "./filter-reader.ts";
import { startRows } from "./rows.ts";

/* For any typed filter, the server receives the conditions that its language can express, and the gateway compares the others. */

/** Strings that often contain operators of the language. */
const text = fc.string({
  unit: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("a", "loss", "Ü", "7", "ada", "range", "in", "gt") },
    {
      weight: 3,
      arbitrary: fc.constantFrom(",", "|", ":", "~", ".", "..", "<", ">", "=", "_", "__", "%", "'"),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(" ", "\t", "\u0000", "\u001f", "\u0085", "\u00a0", "\ufeff", "\ud800"),
    },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 2 }) },
  ),
  maxLength: 4,
});
const texts = fc.array(text, { minLength: 1, maxLength: 2 });
const plain = fc.constantFrom("relu", "a b", "v1.2", "größer", "x~y", "a>b", "#1", "m.curie+1@x.org", "日本");
const plainTexts = fc.array(plain, { minLength: 1, maxLength: 3 });
// JSON has no negative zero.
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const day = fc
  .date({ min: new Date("1970-01-01"), max: new Date("2999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));

const membersOf = (values: typeof texts, name: typeof text, days: typeof text) => ({
  names: values,
  users: values,
  allTags: values,
  notTags: values,
  rawStatuses: values,
  createdAt: fc
    .record({ from: days, before: days }, { requiredKeys: ["from"] })
    .filter(({ from, before }) => before === undefined || from < before),
  metrics: fc.array(
    fc
      .record({ name, atLeast: number, lessThan: number }, { requiredKeys: ["name", "atLeast"] })
      .filter(({ atLeast, lessThan }) => lessThan === undefined || atLeast < lessThan),
    { minLength: 1, maxLength: 2 },
  ),
  parameters: fc.array(fc.record({ name, values }), { minLength: 1, maxLength: 2 }),
});

type Members = ReturnType<typeof membersOf>;
type Input = {
  readonly [Name in keyof Members]?: Members[Name] extends fc.Arbitrary<infer Value> ? Value : never;
};

/** Creates filters with a single member, because no condition is sent if one member is rejected. */
const hostile: fc.Arbitrary<Input> = fc.oneof(
  ...Object.entries(membersOf(texts, text, fc.oneof(text, day))).map(([member, value]) =>
    fc.record<Input>({ [member]: value }),
  ),
);

const set = (key: string, values: readonly string[] = [], isNegated = false): Condition[] =>
  values.length === 0 ? [] : [{ key, isNegated, sign: "", values }];

const bound = (key: string, sign: string, value: string | number | undefined): Condition[] =>
  value === undefined ? [] : [{ key, isNegated: false, sign, values: [value] }];

/** The conditions of a filter, in the order of its members. */
const conditionsOf = ({ createdAt, metrics = [], parameters = [], ...input }: Input): Condition[] => [
  ...set("name", input.names),
  ...set("status", input.rawStatuses),
  ...set("user.username", input.users),
  ...(input.allTags ?? []).flatMap((tag) => set("tags", [tag])),
  ...set("tags", input.notTags, true),
  ...bound("created_at", ">=", createdAt?.from),
  ...bound("created_at", "<", createdAt?.before),
  ...metrics.flatMap(({ name, atLeast, lessThan }) => [
    ...bound(`metric.${name}`, ">=", atLeast),
    ...bound(`metric.${name}`, "<", lessThan),
  ]),
  ...parameters.flatMap(({ name, values }) => set(`declarations.${name}`, values)),
];

const QUERY = `query ($filter: RunFilter) { project(id: "ada.mnist") {
  experiments(filter: $filter) { totalCount scan { scannedRows } }
} }`;

async function startReader() {
  const { ask, service } = await startRows([]);
  let seen = 0;
  return async (filter: Input) => {
    const answer = await ask(QUERY, { filter });
    const codes = codesOf(answer);
    const isScan = codes.length === 0 && listIn(answer, "project.experiments").scan !== null;
    const sent = service.seen().slice(seen);
    seen += sent.length;
    const conditions = sent.map(({ path }) => {
      const params = new URL(path, "http://service").searchParams;
      expect([...params.keys()].filter((key) => !/^(?:query|limit|sort)$/.test(key))).toEqual([]);
      return readFilter(params.get("query") ?? "");
    });
    return { codes, conditions, isScan };
  };
}

test("filter values cannot alter the conditions sent upstream or compared locally", async () => {
  const read = await startReader();
  await fc.assert(
    fc.asyncProperty(hostile, async (filter) => {
      const { codes, conditions, isScan } = await read(filter);
      const [all, sent = []] = [conditionsOf(filter), ...conditions];
      // No day is compared.
      const isRefused = codes.length > 0 && "createdAt" in filter;
      const part = all.filter((each) => sent.some((one) => isDeepStrictEqual(one, each)));
      expect({ codes, conditions, isScan }).toEqual({
        codes: isRefused ? ["BAD_USER_INPUT"] : [],
        conditions: isRefused ? [] : [part],
        isScan: !isRefused && part.length < all.length,
      });
    }),
    { numRuns: cases(100, 700) },
  );
});

test("a filter with plain values is never refused", async () => {
  const read = await startReader();
  const name = fc.constantFrom("loss", "val_loss", "löss", "top-5", "train/loss", "f1 (macro)", "l2");
  const harmless: fc.Arbitrary<Input> = fc.record(membersOf(plainTexts, name, day), { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(harmless, async (filter) => {
      expect(await read(filter)).toEqual({ codes: [], conditions: [conditionsOf(filter)], isScan: false });
    }),
    { numRuns: cases(25, 300) },
  );
});
