import { describe, expect, test } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";
import { type Listed, listIn } from "../support/listed.ts";
import { POLYAXON, startProfile } from "../support/profiles.ts";
import { profileFile } from "../support/tracker.ts";
import { inProject, startRows } from "./rows.ts";
import UNKNOWN_METRICS from "./unknown-metrics.json" with { type: "json" };

const QUERY = `query ($first: Int = 24, $after: String, $order: RunOrder, $filter: RunFilter, $query: String) {
  group(id: "ada.mnist.1") {
    experiments(first: $first, after: $after, order: $order, filter: $filter, query: $query) {
      nodes { loss: latestMetric(name: "loss") { value } }
      totalCount
      pageInfo { endCursor }
    }
  }
}`;

const lossesIn = ({ nodes }: Listed) =>
  nodes.map(({ loss }) => (loss as { readonly value: number | null } | null)?.value ?? null);

const LIST = "GET ada/mnist/experiments?group=1";
const LARGEST = { by: { metric: "loss" }, direction: "DESC" };
const HAS_LOSS = "metric.loss%3A%3E%3D-1e308";

describe("ordering by a metric", () => {
  test.each(POLYAXON)("sorts only runs with numeric values in both directions on %s", async (profile) => {
    const { ask, calls } = await startProfile(profile);
    const listed = async (order: object) => listIn(await ask(QUERY, { order }), "group.experiments");
    const ascending = await listed({ by: { metric: "loss" }, direction: "ASC" });
    const losses = lossesIn(ascending);
    expect(losses).toEqual(losses.toSorted((a, b) => Number(a) - Number(b)));
    expect(losses).not.toContain(null);
    const descending = await listed(LARGEST);
    expect(lossesIn(descending)).toEqual(losses.toReversed());
    expect([ascending.totalCount, descending.totalCount]).toEqual([23, 23]);
    expect(calls()).toEqual([
      `${LIST}&sort=-metric.loss%2C-created_at&query=${HAS_LOSS}&limit=24`,
      `${LIST}&sort=metric.loss%2C-created_at&query=${HAS_LOSS}&limit=24`,
    ]);
  });

  test.each([
    [{ filter: { metrics: { name: "loss", lessThan: 0.5 } } }, "metric.loss:<0.5,metric.loss:>=-1e308"],
    [{ filter: { metrics: { name: "accuracy" } } }, "metric.accuracy:>=-1e308,metric.loss:>=-1e308"],
    [{ filter: { statuses: "FAILED" }, query: "id:1" }, "status:failed,metric.loss:>=-1e308,id:1"],
    [{ order: { by: { metric: "f1-score" }, direction: "ASC" } }, "metric.f1-score:>=-1e308"],
  ])("with %j sends the filter %s", async (variables, filter) => {
    const { ask, filters } = await startRows([{ id: 1, last_metric: { loss: 1, "f1-score": 1 } }]);
    await ask(QUERY, { order: LARGEST, ...variables });
    expect(filters()).toEqual([filter]);
  });
});

const UNKNOWN = 'order.by.metric: expected a metric of the list, got "lss", which no experiment has';

test.each(UNKNOWN_METRICS)(
  "returns an error for a metric that no experiment has: $case",
  async ({ direction, pages, requests, known }) => {
    let page = 0;
    const { ask, service } = await startBefore(() => {
      const results = pages[page++] ?? [];
      return { json: { count: results.length, next: null, results } };
    }, RELEASE_04);
    const list = `experiments(order: { by: { metric: "lss" }, direction: ${direction}) { totalCount }`;
    expect(errorsOf(await ask(inProject(list)))).toEqual([
      failure("project.experiments", "BAD_USER_INPUT", UNKNOWN + known),
    ]);
    expect(service.calls()).toHaveLength(requests);
  },
);

test("the error for a misspelt metric suggests ten existing names", async () => {
  const values = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`m${index + 10}`, index]));
  const { ask } = await startRows([{ id: 1, last_metric: values }]);
  const list = `experiments(order: { by: { metric: "lss" }, direction: ASC }) { totalCount }`;
  const names = Object.keys(values)
    .slice(0, 10)
    .map((name) => JSON.stringify(name));
  expect(errorsOf(await ask(inProject(list)))).toEqual([
    failure("project.experiments", "BAD_USER_INPUT", `${UNKNOWN}; there are ${names.join(", ")} and others`),
  ]);
});

test("with an order by metric, a page after the end is empty", async () => {
  const { ask } = await startRows([{ id: 1, last_metric: { loss: 1 } }]);
  const list = `experiments(first: 2, offset: 5, order: { by: { metric: "loss" } }) { nodes { internalId } totalCount }`;
  expect(await ask(inProject(list))).toEqual({
    data: { project: { experiments: { nodes: [], totalCount: 1 } } },
  });
});

test("an empty list can be ordered by any metric", async () => {
  const { ask } = await startRows([]);
  expect(await ask(inProject(`experiments(order: { by: { metric: "lss" } }) { totalCount }`))).toEqual({
    data: { project: { experiments: { totalCount: 0 } } },
  });
});

test("sends the parameters that a profile file defines for metric orders", async () => {
  const profile =
    'extends: polyaxon-0.4\nmetricOrders: {DESC: {order_by: "metrics/{metric}", direction: desc}}';
  const { ask, calls } = await startRows([], { UPSTREAM_PROFILE: profileFile(profile) });
  const list = `experiments(order: { by: { metric: "loss" }, direction: DESC }) { totalCount }`;
  expect(errorsOf(await ask(inProject(list)))).toEqual([]);
  expect(calls()).toContain(
    "GET ada/mnist/experiments?order_by=metrics%2Floss&direction=desc&query=metric.loss%3A%3E%3D-1e308",
  );
});
