import { expect, test } from "vitest";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";
import { inProject, startRows } from "./rows.ts";

const QUERY = `query ($first: Int = 3, $orderBy: RunOrder, $query: String, $after: String) {
  group(id: "ada.mnist.1") {
    experiments(first: $first, orderBy: $orderBy, query: $query, after: $after) {
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
  ["UPDATED_DESC", "-updated_at,-created_at", "updatedAt", -1],
  ["CREATED_DESC", "-created_at,-updated_at", "createdAt", -1],
  ["CREATED_ASC", "created_at,-updated_at", "createdAt", 1],
] as const)("the order %s is the server's %s", async (orderBy, sort, key, direction) => {
  const { ask, calls } = await startProfile();
  const { data } = await ask<Runs, object>(QUERY, { first: 24, orderBy });
  const times = data.group.experiments.nodes.map(({ [key]: time }) => Date.parse(time));
  expect(times).toEqual(times.toSorted((a, b) => direction * (a - b)));
  expect(new Set(times).size).toBeGreaterThan(20);
  expect(calls()).toEqual([`GET ada/mnist/experiments?group=1&sort=${sort.replace(",", "%2C")}&limit=24`]);
});

test("order and filter are sent again with the request for the next page", async () => {
  const { ask, calls } = await startProfile();
  const variables = { orderBy: "CREATED_ASC", query: "status:succeeded|failed" };
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

test.each([
  ["order: { field: CREATED, direction: ASC }", "orderBy: CREATED_ASC"],
  ["order: { field: FINISHED }", "orderBy: FINISHED_DESC"],
  [`order: { metric: "loss", direction: ASC }`, `orderByMetric: { name: "loss", direction: ASC }`],
  [`order: { metric: "accuracy" }`, `orderByMetric: { name: "accuracy", direction: DESC }`],
])("%s asks for the same as %s", async (order, before) => {
  const [one, other] = [await startRows([]), await startRows([])];
  expect(codesOf(await one.ask(list("experiments", order)))).toEqual([]);
  await other.ask(list("experiments", before));
  expect(one.calls()).toHaveLength(1);
  expect(one.calls()).toEqual(other.calls());
});

test("filters in plural are one condition for each of their lists", async () => {
  const { ask, filters } = await startRows([]);
  const filter = `{ statuses: { in: [SUCCEEDED, FAILED], notIn: [FAILED] }, users: { in: ["ada"] }, names: { notIn: ["x"] } }`;
  expect(codesOf(await ask(list("experiments", `filter: ${filter}`)))).toEqual([]);
  expect(filters()).toEqual(["name:~x,status:succeeded|failed,status:~failed,user.username:ada"]);
});

const EITHER = "order: expected `field` or `metric`, such as {field: CREATED, direction: DESC}, got";

test.each([
  ["experiments", "order: {}", `${EITHER} none`],
  ["experiments", `order: { field: CREATED, metric: "loss" }`, `${EITHER} both`],
  [
    "experiments",
    "order: { field: CREATED }, orderBy: CREATED_ASC",
    "order: expected `order` alone, got `orderBy` or `orderByMetric` as well",
  ],
  [
    "jobs",
    `order: { metric: "loss" }`,
    "order.metric: expected for a list of experiments only, got it for jobs",
  ],
  ["jobs", "filter: { statuses: {} }", "filter.statuses: expected `in` or `notIn`, got none"],
  ["jobs", "filter: { users: { notIn: [] } }", "filter.users.notIn: expected at least one value, got none"],
])("of %s, %s is refused unsent", async (kind, args, message) => {
  const { ask, calls } = await startRows([]);
  expect(outcomeOf(await ask(list(kind, args)))).toEqual({
    data: { project: { list: null } },
    errors: [failure("project.list", "BAD_USER_INPUT", message)],
  });
  expect(calls()).toEqual([]);
});
