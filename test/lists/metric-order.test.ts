import { describe, expect, test } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { POLYAXON, startProfile } from "../support/profiles.ts";
import { documentedProfile, profileFile } from "../support/tracker.ts";

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
    "upwards ends with the runs that lack it; downwards leaves them out, with %s",
    async (profile) => {
      const { ask, calls } = await startProfile(profile);
      const upwards = await ask<Runs, object>(QUERY, { order: { name: "loss", direction: "ASC" } });
      const losses = lossesIn(upwards.data);
      const known = losses.filter((loss) => loss !== null);
      expect(losses).toEqual([...known.toSorted((a, b) => a - b), null]);
      const downwards = await ask<Runs, object>(QUERY, { order: LARGEST });
      expect(lossesIn(downwards.data)).toEqual(known.toReversed());
      expect(downwards.data.group.experiments.totalCount).toBe(23);
      expect(calls()).toEqual([
        `${LIST}&sort=-metric.loss%2C-created_at&query=${HAS_LOSS}&limit=24`,
        `${LIST}&sort=metric.loss%2C-created_at&limit=24`,
      ]);
    },
  );

  test("is sent again with the request for the next page", async () => {
    const { ask, calls } = await startProfile();
    const all = lossesIn((await ask<Runs, object>(QUERY, { order: LARGEST })).data);
    const first = await ask<Runs, object>(QUERY, { order: LARGEST, first: 10 });
    const after = first.data.group.experiments.pageInfo.endCursor;
    const second = await ask<Runs, object>(QUERY, { order: LARGEST, first: 13, after });
    expect([...lossesIn(first.data), ...lossesIn(second.data)]).toEqual(all);
    const asked = `${LIST}&sort=-metric.loss%2C-created_at&query=${HAS_LOSS}`;
    expect(calls()).toEqual([`${asked}&limit=10`, `${asked}&limit=13&offset=10`, `${asked}&limit=24`]);
  });

  test.each([
    [{ filter: { metrics: { name: "loss", lessThan: 0.5 } } }, "metric.loss:<0.5"],
    [{ filter: { metrics: { name: "accuracy" } } }, "metric.accuracy:>=-1e308,metric.loss:>=-1e308"],
    [{ query: "status:running" }, "metric.loss:>=-1e308,status:running"],
    [{ filter: { status: "FAILED" }, query: "id:1" }, "status:failed,metric.loss:>=-1e308,id:1"],
  ])("downwards, with %j, the server filters by %s", async (variables, filter) => {
    const service = await startFake(() => ({ json: { count: 1, results: [{ id: 1, last_metric: null }] } }));
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    await ask(QUERY, { order: LARGEST, ...variables });
    expect(service.seen().map(({ path }) => new URL(path, service.url).searchParams.get("query"))).toEqual([
      filter,
    ]);
  });

  test.each(["train/loss", "a.b", "a__b", "loss,-created_at", "-loss", "loss_", "7", ""])(
    "by %j is refused, since the server would ignore it or crash",
    async (name) => {
      const { ask, calls } = await startProfile();
      const answer = await ask(QUERY, { order: { name, direction: "DESC" } });
      expect(errorsOf(answer)).toEqual([
        failure(
          "group.experiments",
          "BAD_USER_INPUT",
          `orderByMetric.name: expected a name that the server can sort by: letters, digits and single _ in between, got ${JSON.stringify(name)}`,
        ),
      ]);
      expect(calls()).toEqual([]);
    },
  );

  test.each(["id", "name", "status", "user", "jobs", "metrics", "tags", "uuid", "deleted", "created_at"])(
    "by %s is refused, since the server has a column of that name and would crash",
    async (name) => {
      const { ask, calls } = await startProfile();
      const answer = await ask(QUERY, { order: { name, direction: "ASC" } });
      expect(errorsOf(answer)).toEqual([
        failure(
          "group.experiments",
          "BAD_USER_INPUT",
          `orderByMetric.name: expected a name that the server has no column of its own for, got "${name}"`,
        ),
      ]);
      expect(calls()).toEqual([]);
    },
  );

  test.each(["ASC", "DESC"])("by a name too long for a URL is refused, %s", async (direction) => {
    const { ask, calls } = await startProfile();
    const answer = await ask(QUERY, { order: { name: "m".repeat(50_000), direction } });
    expect(errorsOf(answer)).toEqual([
      failure(
        "group.experiments",
        "BAD_USER_INPUT",
        "orderByMetric.name: expected at most 2000 characters, got 50000",
      ),
    ]);
    expect(calls()).toEqual([]);
  });

  test("with another order is refused", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(`{ group(id: "ada.mnist.1") {
      experiments(orderBy: CREATED_ASC, orderByMetric: {name: "loss", direction: ASC}) { totalCount }
    } }`);
    expect(errorsOf(answer)).toEqual([
      failure(
        "group.experiments",
        "BAD_USER_INPUT",
        "orderByMetric: expected `orderBy` or `orderByMetric`, got both",
      ),
    ]);
    expect(calls()).toEqual([]);
  });
});

describe("a server that only a file describes", () => {
  const PROFILE = documentedProfile().replace(
    "orders:\n",
    'metricOrders:\n  DESC: { order_by: "metrics/{metric}", direction: desc }\norders:\n',
  );
  const EXPERIMENTS = `query ($direction: OrderDirection!) { project(owner: "ada", name: "mnist") {
    experiments(orderByMetric: {name: "loss", direction: $direction}) { totalCount }
  } }`;

  test("is asked for the order in its own parameters, and for none that it lacks", async () => {
    const service = await startFake(() => ({ json: { results: [], count: 0 } }));
    const { ask } = await startGateway({
      upstream: service,
      env: { UPSTREAM_PROFILE: profileFile(PROFILE) },
    });
    expect(await ask("{ gateway { capabilities } }")).toEqual({
      data: { gateway: { capabilities: ["OFFSETS"] } },
    });
    expect(await ask(EXPERIMENTS, { direction: "DESC" })).toEqual({
      data: { project: { experiments: { totalCount: 0 } } },
    });
    expect(errorsOf(await ask(EXPERIMENTS, { direction: "ASC" }))).toEqual([
      failure(
        "project.experiments",
        "CAPABILITY_UNAVAILABLE",
        "The server behind this gateway does not offer the order by a metric. `gateway.capabilities` tells what there is.",
      ),
    ]);
    expect(service.calls()).toEqual([
      "GET /v2/projects/ada/mnist/trials?order_by=metrics%2Floss&direction=desc",
    ]);
  });
});
