import { describe, expect, test } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import { POLYAXON, startProfile } from "../support/profiles.ts";
import { profileFile } from "../support/tracker.ts";
import { inProject, startRows } from "./rows.ts";

const QUERY = `query ($first: Int = 24, $after: String, $order: MetricOrder, $filter: ExperimentFilter, $query: String) {
  group(id: "ada.mnist.1") {
    experiments(first: $first, after: $after, orderByMetric: $order, filter: $filter, query: $query) {
      nodes { loss: lastMetricValue(name: "loss") }
      totalCount
      pageInfo { endCursor }
    }
  }
}`;

interface Runs {
  readonly group: {
    readonly experiments: {
      readonly nodes: readonly { readonly loss: number | null }[];
      readonly totalCount: number;
      readonly pageInfo: { readonly endCursor: string };
    };
  };
}

const lossesIn = ({ group }: Runs) => group.experiments.nodes.map(({ loss }) => loss);

const LIST = "GET ada/mnist/experiments?group=1";
const LARGEST = { name: "loss", direction: "DESC" };
const HAS_LOSS = "metric.loss%3A%3E%3D-1e308";

describe("the order by a metric", () => {
  test.each(POLYAXON)(
    "ascending ends with the runs that lack it; descending leaves them out, with %s",
    async (profile) => {
      const { ask, calls } = await startProfile(profile);
      const ascending = await ask<Runs, object>(QUERY, { order: { name: "loss", direction: "ASC" } });
      const losses = lossesIn(ascending.data);
      const known = losses.filter((loss) => loss !== null);
      expect(losses).toEqual([...known.toSorted((a, b) => a - b), null]);
      const descending = await ask<Runs, object>(QUERY, { order: LARGEST });
      expect(lossesIn(descending.data)).toEqual(known.toReversed());
      expect(descending.data.group.experiments.totalCount).toBe(23);
      expect(calls()).toEqual([
        `${LIST}&sort=-metric.loss%2C-created_at&query=${HAS_LOSS}&limit=24`,
        `${LIST}&sort=metric.loss%2C-created_at&limit=24`,
      ]);
    },
  );

  test.each([
    [{ filter: { metrics: { name: "loss", lessThan: 0.5 } } }, "metric.loss:<0.5"],
    [{ filter: { metrics: { name: "accuracy" } } }, "metric.accuracy:>=-1e308,metric.loss:>=-1e308"],
    [{ filter: { status: "FAILED" }, query: "id:1" }, "status:failed,metric.loss:>=-1e308,id:1"],
  ])("descending, with %j, the server filters by %s", async (variables, filter) => {
    const { ask, filters } = await startRows([{ id: 1, last_metric: null }]);
    await ask(QUERY, { order: LARGEST, ...variables });
    expect(filters()).toEqual([filter]);
  });
});

const PLAIN = "a name that the server can sort by: letters, digits and single _ in between";
const OWN = "a name that the server has no column of its own for";
const ascending = (name: string) => `orderByMetric: { name: ${JSON.stringify(name)}, direction: ASC }`;
const refusal = (name: string, expected: string) => [
  JSON.stringify(name),
  ascending(name),
  `orderByMetric.name: expected ${expected}, got ${JSON.stringify(name)}`,
];

test.each([
  ...["train/loss", "a.b", "a__b", "loss,-created_at", "-loss", "loss_", "7", ""].map((name) =>
    refusal(name, PLAIN),
  ),
  ...["id", "name", "status", "user", "jobs", "metrics", "tags", "uuid", "deleted", "created_at"].map(
    (name) => refusal(name, OWN),
  ),
  [
    "a name too long for a URL",
    ascending("m".repeat(50_000)),
    "orderByMetric.name: expected at most 2000 characters, got 50000",
  ],
  [
    "two orders",
    `${ascending("loss")}, orderBy: CREATED_ASC`,
    "orderByMetric: expected `orderBy` or `orderByMetric`, got both",
  ],
])("an order by %s is refused, since the server would ignore it or crash", async (_, args, message) => {
  const { ask, calls } = await startRows([]);
  const answer = await ask(inProject(`experiments(${args}) { totalCount }`));
  expect(errorsOf(answer)).toEqual([failure("project.experiments", "BAD_USER_INPUT", message)]);
  expect(calls()).toEqual([]);
});

test("a server of a file is asked in its own parameters, and for no direction that it lacks", async () => {
  const profile =
    'extends: polyaxon-0.4\nmetricOrders: {ASC: null, DESC: {order_by: "metrics/{metric}", direction: desc}}';
  const { ask, calls } = await startRows([], { UPSTREAM_PROFILE: profileFile(profile) });
  const experiments = (direction: string) =>
    inProject(`experiments(orderByMetric: {name: "loss", direction: ${direction}}) { totalCount }`);
  expect(errorsOf(await ask(experiments("DESC")))).toEqual([]);
  expect(errorsOf(await ask(experiments("ASC")))).toEqual([
    failure(
      "project.experiments",
      "CAPABILITY_UNAVAILABLE",
      "The server behind this gateway does not offer the order by a metric. `gateway.capabilities` tells what there is.",
    ),
  ]);
  expect(calls()).toEqual([
    "GET ada/mnist/experiments?order_by=metrics%2Floss&direction=desc&query=metric.loss%3A%3E%3D-1e308",
  ]);
});
