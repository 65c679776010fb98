import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { globalId } from "../support/ids.ts";
import { profileFile } from "../support/tracker.ts";
import { inProject, startRows } from "./rows.ts";

const TEXT =
  "expected text without `,`, `|`, `:`, `..`, a sign of comparison or `~` at its start, or space around it";
const DAY = "expected a day from 1970 to 2999, without time of day, such as 2026-03-01";
const NAME =
  "expected a name that the server can filter by: letters, digits, spaces and - _ / @ + # ( ), not `__` or a word of the server such as `range`";
const EITHER = "order: expected `field` or `metric`, such as {field: CREATED_AT, direction: DESC}, got";
const SCANNED = "offset: expected none where the gateway scans the list";
const at2 = "filter.metrics[0]: expected bounds that a number can meet, got";

/** A list with its arguments, and what callers are told. */
type Row = readonly [list: string, message: string];

const filters: readonly Row[] = (
  [
    ["{statuses: OTHER}", "statuses: expected a status of the service, got OTHER; use `rawStatuses`"],
    ["{statuses: []}", "statuses: expected at least one value, got none"],
    ["{notUsers: []}", "notUsers: expected at least one value, got none"],
    ["{phases: UNKNOWN}", "phases: expected a phase that a status tells, got UNKNOWN"],
    ['{tags: ["a", "b,c"]}', `tags: ${TEXT}, got "b,c"`],
    ['{names: "a\\u0000b"}', `names: ${TEXT}, got "a\\u0000b"`],
    ['{startedAt: {before: "2026-03-01T10:00:00Z"}}', `startedAt.before: ${DAY}, got "2026-03-01T10:00:00Z"`],
    ['{createdAt: {from: "2026-02-29"}}', `createdAt.from: ${DAY}, got "2026-02-29"`],
    ['{createdAt: {from: "0001-01-01"}}', `createdAt.from: ${DAY}, got "0001-01-01"`],
    [
      '{createdAt: {from: "2026-03-02", before: "2026-03-01"}}',
      "createdAt: expected `from` before `before`, got 2026-03-02 and 2026-03-01",
    ],
    ['{metrics: [{name: "loss"}, {name: "a.b"}]}', `metrics[1].name: ${NAME}, got "a.b"`],
    [
      '{declarations: {name: "lr", values: []}}',
      "declarations[0]: expected at least one of `values` or a bound, got none",
    ],
    ['{declarations: {name: "range", values: "a"}}', `declarations[0].name: ${NAME}, got "range"`],
    [
      '{declarations: {name: "lr", greaterThan: 1, atMost: 1}}',
      "declarations[0]: expected bounds that a number can meet, got 1 to 1",
    ],
    [
      '{declarations: {name: "lr", atMost: 1e999}}',
      "declarations[0].atMost: expected a finite number, got Infinity",
    ],
    [
      `{declarations: {name: "lr", values: "[${"1,".repeat(1_000)}1]"}}`,
      "declarations[0].values: expected at most 2000 characters, got 2003",
    ],
    ['{builds: "ada.speech.builds.7"}', "builds: expected a BuildJob of ada.mnist, got one of ada.speech"],
    [
      `{groups: ["ada.mnist.1", "${globalId("Experiment:ada/mnist/1")}"]}`,
      "groups: expected the id of a Group, got the id of an Experiment",
    ],
    ['{groups: "7"}', 'groups: expected a global id or a name such as ada.mnist.5, got "7"'],
    ['{words: " "}', "words: expected at least one word, got none"],
    [`{words: "${"a".repeat(201)}"}`, "words: expected at most 200 characters, got 201"],
  ] as const
).map(([filter, message]) => [`experiments(filter: ${filter})`, `filter.${message}`]);

const PLAIN = "a name that the server can sort by: letters, digits and single _ in between";
const OWN = "a name that the server has no column of its own for";
const byMetric = (names: string, expected: string): Row[] =>
  names.split("|").map((name) => {
    const order = `order: { metric: "${name}", direction: ASC }`;
    return [`experiments(${order})`, `order.metric: expected ${expected}, got "${name}"`];
  });

test.each<Row>([
  ...filters,
  [
    `experiments(filter: {tags: "${"a".repeat(1_996)}"})`,
    "filter: expected at most 2000 characters in the server's language, got 2001",
  ],
  [
    `groups(filter: {builds: ["ada.mnist.builds.1"]})`,
    "filter.builds: expected for Experiment or Job only, got it for Group",
  ],
  [`experiments(filter: {metrics: {name: "loss", atLeast: 2, atMost: 1}})`, `${at2} 2 to 1`],
  ["experiments(order: {})", `${EITHER} none`],
  [`experiments(order: {field: CREATED_AT, metric: "loss"})`, `${EITHER} both`],
  [`jobs(order: {metric: "loss"})`, "order.metric: expected for a list of experiments only, got it for jobs"],
  // The server would ignore them or crash.
  ...byMetric("train/loss|a.b|a__b|loss,-created_at|-loss|loss_|7|", PLAIN),
  ...byMetric("id|name|status|user|jobs|metrics|tags|uuid|deleted|created_at", OWN),
  [
    `experiments(order: {metric: "${"m".repeat(50_000)}", direction: ASC})`,
    "order.metric: expected at most 2000 characters, got 50000",
  ],
  ["jobs(first: 0)", "first: expected 1 to 500, got 0"],
  ["jobs(first: 501)", "first: expected 1 to 500, got 501"],
  [`jobs(after: "nonsense")`, 'after: expected a cursor of this list, got "nonsense"'],
  [`jobs(query: "${"x".repeat(2_001)}")`, "query: expected at most 2000 characters, got 2001"],
  ["jobs(offset: -1)", "offset: expected 0 to 999999999, got -1"],
  ["jobs(offset: 1000000000)", "offset: expected 0 to 999999999, got 1000000000"],
  [`jobs(offset: 0, after: "b2Zmc2V0PTIjMA")`, "offset: expected `offset` or `after`, got both"],
  [`experiments(offset: 2, filter: {declarations: {name: "lr", values: "0.1"}})`, SCANNED],
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
  [PAGED_BY_LINKS, "jobs(offset: 20)", "pages at an offset: it lacks the capability `OFFSETS`."],
  [
    "metricOrders: {ASC: null}",
    `experiments(order: {metric: "loss", direction: ASC})`,
    "the order by a metric: it lacks the capability `METRIC_ORDERS`.",
  ],
  [
    NO_DECLARATIONS,
    `experiments(filter: {declarations: {name: "lr", values: "0.1"}})`,
    "filters by parameters other than texts.",
  ],
])("a server with %s is not asked for %s", async (profile, list, lacks) => {
  const env = { UPSTREAM_PROFILE: profileFile(`extends: polyaxon-0.4\n${profile}`) };
  const { ask, calls } = await startRows([], env);
  const message = expect.stringContaining(`The server behind this gateway does not offer ${lacks}`);
  expect(outcomeOf(await ask(inProject(`list: ${list} { totalCount }`))).errors).toEqual([
    failure("project.list", "CAPABILITY_UNAVAILABLE", message as string),
  ]);
  expect(calls()).toEqual([]);
});

test("a list without a token is UNAUTHENTICATED, and nothing is sent", async () => {
  const { ask, calls } = await startRows([]);
  const answer = await ask(inProject("jobs { totalCount }"), {}, { token: null });
  expect(outcomeOf(answer)).toMatchObject({ data: { project: null }, errors: [{ code: "UNAUTHENTICATED" }] });
  expect(calls()).toEqual([]);
});
