import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { profileFile } from "../support/tracker.ts";
import REFUSED from "./refused.json" with { type: "json" };
import { inProject, startRows } from "./rows.ts";

/** A list with its arguments, and the error that callers receive. */
type Row = readonly [list: string, message: string];

const PLAIN = "a name that the server can sort by: letters, digits, - and single _ in between";
const OWN = "a name that the server has no column of its own for";
const byMetric = (names: string, expected: string): Row[] =>
  names.split("|").map((name) => {
    const order = `order: { by: { metric: "${name}" }, direction: ASC }`;
    return [`experiments(${order})`, `order.by.metric: expected ${expected}, got "${name}"`];
  });

/** Arguments that are longer than any limit. */
const TOO_LONG: readonly Row[] = (
  [
    [
      `filter: { parameters: {name: "lr", values: "[${"1,".repeat(1_000)}1]"}}`,
      "filter: expected at most 2000 characters that the server cannot filter by, got 2005",
    ],
    [`filter: {words: "${"a".repeat(201)}"}`, "filter.words: expected at most 200 characters, got 201"],
    [
      `filter: {tags: "${"a".repeat(1_996)}"}`,
      "filter: expected at most 2000 characters in the server's language, got 2001",
    ],
    [
      `order: { by: { metric: "${"m".repeat(50_000)}" }, direction: ASC }`,
      "order.by.metric: expected at most 2000 characters, got 50000",
    ],
    [`filter: {allTags: [${'"",'.repeat(2_001)}]}`, "filter.allTags: expected at most 2000 values, got 2001"],
    [
      `filter: { parameters: {name: "lr", values: [${'"a",'.repeat(2_001)}]}}`,
      "filter.parameters[0].values: expected at most 2000 values, got 2001",
    ],
    // A message repeats at most 60 characters of a value.
    [
      `order: { by: { metric: "${"/m".repeat(500)}" }, direction: ASC }`,
      `order.by.metric: expected a name that the server can sort by: letters, digits, - and single _ in between, got "${"/m".repeat(30)}"`,
    ],
    [`query: "${"x".repeat(2_001)}"`, "query: expected at most 2000 characters, got 2001"],
  ] as const
).map(([args, message]) => [`experiments(${args})`, message]);

test.each<Row>([
  ...Object.entries(REFUSED),
  ...TOO_LONG,
  // The server would ignore these metrics, or crash.
  ...byMetric("train/loss|a.b|a__b|loss,-created_at|-loss|loss_|f1-|7|", PLAIN),
  ...byMetric("id|name|status|user|jobs|metrics|tags|uuid|deleted|created_at", OWN),
])("%.100s is refused, and nothing is sent", async (list, message) => {
  const { ask, calls } = await startRows([]);
  expect(outcomeOf(await ask(inProject(`name list: ${list} { totalCount }`)))).toEqual({
    data: { project: { name: "mnist", list: null } },
    errors: [failure("project.list", "BAD_USER_INPUT", message)],
  });
  expect(calls()).toEqual([]);
});

const PAGED_BY_LINKS = "paging: {by: link, parameters: {limit: size, offset: offset}}";
const NO_DECLARATIONS = "omittedInLists: {experiments: [declarations]}";

test.each([
  ["filters: {language: null}", "jobs(filter: {statuses: RUNNING})", "the argument `filter`"],
  ["orders: {CREATED_DESC: null}", "jobs(order: { by: { field: CREATED_AT } })", "the order CREATED_DESC."],
  [PAGED_BY_LINKS, "jobs(offset: 20)", "pages at an offset: it lacks the capability `OFFSETS`."],
  [
    "metricOrders: {ASC: null}",
    `experiments(order: { by: { metric: "loss" }, direction: ASC })`,
    "the order by a metric: it lacks the capability `METRIC_ORDERS`.",
  ],
  [
    NO_DECLARATIONS,
    `experiments(filter: { parameters: {name: "lr", values: "0.1"}})`,
    "`filter.parameters[0]` with what it cannot find by itself.",
  ],
])("a server whose profile has %s is not sent %s", async (profile, list, lacks) => {
  const env = { UPSTREAM_PROFILE: profileFile(`extends: polyaxon-0.4\n${profile}`) };
  const { ask, calls } = await startRows([], env);
  const message = expect.stringContaining(`The server behind this gateway does not offer ${lacks}`);
  expect(outcomeOf(await ask(inProject(`list: ${list} { totalCount }`))).errors).toEqual([
    failure("project.list", "CAPABILITY_UNAVAILABLE", message as string),
  ]);
  expect(calls()).toEqual([]);
});
