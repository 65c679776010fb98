import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";

const list = (kind: string, args: string) =>
  `{ project(owner: "ada", name: "mnist") { list: ${kind}(first: 1, ${args}) { totalCount } } }`;

test.each([
  ["order: { field: CREATED, direction: ASC }", "orderBy: CREATED_ASC"],
  ["order: { field: FINISHED }", "orderBy: FINISHED_DESC"],
  [`order: { metric: "loss", direction: ASC }`, `orderByMetric: { name: "loss", direction: ASC }`],
  [`order: { metric: "accuracy" }`, `orderByMetric: { name: "accuracy", direction: DESC }`],
])("%s asks for the same as %s", async (order, before) => {
  const [one, other] = [await startProfile(), await startProfile()];
  expect(await one.ask(list("experiments", order))).toEqual(await other.ask(list("experiments", before)));
  const calls = one.calls();
  expect(calls).toHaveLength(1);
  expect(calls).toEqual(other.calls());
});

test.each([
  [
    "experiments",
    "order: {}",
    "order: expected `field` or `metric`, such as {field: CREATED, direction: DESC}, got none",
  ],
  [
    "experiments",
    `order: { field: CREATED, metric: "loss" }`,
    "order: expected `field` or `metric`, such as {field: CREATED, direction: DESC}, got both",
  ],
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
])("of %s %s is refused unsent", async (kind, args, message) => {
  const { ask, calls } = await startProfile();
  expect(outcomeOf(await ask(list(kind, args)))).toEqual({
    data: { project: { list: null } },
    errors: [failure("project.list", "BAD_USER_INPUT", message)],
  });
  expect(calls()).toEqual([]);
});

test("filters in plural are one condition for each of their lists", async () => {
  const { ask, calls } = await startProfile();
  const filter = `{ statuses: { in: [SUCCEEDED, FAILED], notIn: [FAILED] }, users: { in: ["ada"] }, names: { notIn: ["x"] } }`;
  const { errors } = await ask(list("experiments", `filter: ${filter}`));
  expect(errors).toBeUndefined();
  expect(calls().map((call) => decodeURIComponent(call))).toEqual([
    "GET ada/mnist/experiments?query=name:~x,status:succeeded|failed,status:~failed,user.username:ada&limit=1",
  ]);
});

test.each([
  ["{ statuses: {} }", "filter.statuses: expected `in` or `notIn`, got none"],
  ["{ users: { notIn: [] } }", "filter.users.notIn: expected at least one value, got none"],
  [
    "{ statuses: { in: [OTHER] } }",
    "filter.statuses.in: expected a status of the service, got OTHER; use `rawStatus`",
  ],
])("the filter %s is refused unsent", async (filter, message) => {
  const { ask, calls } = await startProfile();
  expect(outcomeOf(await ask(list("jobs", `filter: ${filter}`)))).toEqual({
    data: { project: { list: null } },
    errors: [failure("project.list", "BAD_USER_INPUT", message)],
  });
  expect(calls()).toEqual([]);
});
