import { expect, test } from "vitest";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";
import { inProject, startRows } from "./rows.ts";

const QUERY = `query ($first: Int = 3, $order: RunOrder, $query: String, $after: String) {
  group(id: "ada.mnist.1") {
    experiments(first: $first, order: $order, query: $query, after: $after) {
      nodes { createdAt updatedAt status }
      totalCount
      pageInfo { endCursor }
    }
  }
}`;
interface Runs {
  readonly group: {
    readonly experiments: {
      readonly nodes: readonly { createdAt: string; updatedAt: string; status: string }[];
      readonly totalCount: number;
      readonly pageInfo: { readonly endCursor: string };
    };
  };
}

test.each([
  ["UPDATED_AT", "DESC", "-updated_at,-created_at", "updatedAt"],
  ["CREATED_AT", "DESC", "-created_at,-updated_at", "createdAt"],
  ["CREATED_AT", "ASC", "created_at,-updated_at", "createdAt"],
] as const)("the order %s %s is the server's %s", async (field, direction, sort, key) => {
  const { ask, calls } = await startProfile();
  const { data } = await ask<Runs, object>(QUERY, { first: 24, order: { field, direction } });
  const times = data.group.experiments.nodes.map(({ [key]: time }) => Date.parse(time));
  expect(times).toEqual(times.toSorted((a, b) => (direction === "ASC" ? a - b : b - a)));
  expect(new Set(times).size).toBeGreaterThan(20);
  expect(calls()).toEqual([`GET ada/mnist/experiments?group=1&sort=${sort.replace(",", "%2C")}&limit=24`]);
});

test("order and filter are sent again with the request for the next page", async () => {
  const { ask, calls } = await startProfile();
  const variables = { order: { field: "CREATED_AT", direction: "ASC" }, query: "status:succeeded|failed" };
  const { data } = await ask<Runs, object>(QUERY, variables);
  const { endCursor } = data.group.experiments.pageInfo;
  const { data: next } = await ask<Runs, object>(QUERY, { ...variables, after: endCursor });
  const nodes = [...data.group.experiments.nodes, ...next.group.experiments.nodes];
  const [good, bad] = ["SUCCEEDED", "FAILED"];
  expect(nodes.map(({ status }) => status)).toEqual([good, good, good, bad, good, good]);
  expect(next.group.experiments.totalCount).toBe(18);
  const asked =
    "GET ada/mnist/experiments?group=1&sort=created_at%2C-updated_at&query=status%3Asucceeded%7Cfailed";
  expect(calls()).toEqual([`${asked}&limit=3`, `${asked}&limit=3&offset=3`]);
});

test.each(["status:failed&limit=9&offset=1", "name:a b+c%20d", "tags:ü#é?x=1", ""])(
  "the text %j reaches the server as one parameter; an empty one is not sent",
  async (query) => {
    const { ask, service } = await startRows([{ id: 1 }]);
    await ask(QUERY, { query });
    expect([...new URL(service.seen()[0]?.path ?? "", "http://service").searchParams]).toEqual([
      ["group", "1"],
      ...(query === "" ? [] : [["query", query]]),
      ["limit", "3"],
    ]);
  },
);

const list = (kind: string, args: string) => inProject(`list: ${kind}(first: 1, ${args}) { totalCount }`);

test("a filter of phases is one of the statuses that they have", async () => {
  const { ask, filters } = await startRows([]);
  const filter = `{ phases: [ACTIVE, FAILED], notStatuses: FAILED, users: ["ada"], notNames: ["x"] }`;
  expect(codesOf(await ask(list("experiments", `filter: ${filter}`)))).toEqual([]);
  expect(filters()).toEqual([
    "name:~x,status:~failed,status:starting|running|warning|retrying|stopping|failed|upstream_failed,user.username:ada",
  ]);
});

test("a day may be written as the time of its midnight", async () => {
  const { ask, filters } = await startRows([]);
  const filter = `{ createdAt: { from: "2026-03-01T00:00:00.000Z", before: "2026-03-02" } }`;
  expect(codesOf(await ask(list("experiments", `filter: ${filter}`)))).toEqual([]);
  expect(filters()).toEqual(["created_at:>=2026-03-01,created_at:<2026-03-02"]);
});

const EITHER = "order: expected `field` or `metric`, such as {field: CREATED_AT, direction: DESC}, got";

test.each([
  ["experiments", "order: {}", `${EITHER} none`],
  ["experiments", `order: { field: CREATED_AT, metric: "loss" }`, `${EITHER} both`],
  [
    "jobs",
    `order: { metric: "loss" }`,
    "order.metric: expected for a list of experiments only, got it for jobs",
  ],
  ["jobs", "filter: { notUsers: [] }", "filter.notUsers: expected at least one value, got none"],
  ["jobs", "filter: { phases: UNKNOWN }", "filter.phases: expected a phase that a status tells, got UNKNOWN"],
  [
    "groups",
    `filter: { builds: ["ada.mnist.builds.1"] }`,
    "filter.builds: expected for Experiment or Job only, got it for Group",
  ],
  [
    "jobs",
    `filter: { createdAt: { from: "2026-03-02", before: "2026-03-01" } }`,
    "filter.createdAt: expected `from` before `before`, got 2026-03-02 and 2026-03-01",
  ],
  [
    "experiments",
    `filter: { metrics: { name: "loss", atLeast: 2, atMost: 1 } }`,
    "filter.metrics[0]: expected bounds that a number can meet, got 2 to 1",
  ],
  [
    "experiments",
    `filter: { declarations: { name: "lr", greaterThan: 1, atMost: 1 } }`,
    "filter.declarations[0]: expected bounds that a number can meet, got 1 to 1",
  ],
])("of %s, %s is refused unsent", async (kind, args, message) => {
  const { ask, calls } = await startRows([]);
  expect(outcomeOf(await ask(list(kind, args)))).toEqual({
    data: { project: { list: null } },
    errors: [failure("project.list", "BAD_USER_INPUT", message)],
  });
  expect(calls()).toEqual([]);
});
