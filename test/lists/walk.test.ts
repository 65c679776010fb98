import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { POLYAXON } from "../support/profiles.ts";
import { RunTable, type TableRun } from "../support/run-table.ts";

/*
 * Walks through lists of runs, page by page, in any order and with pages of any length.
 */

const QUERY = `query ($first: Int, $after: String, $orderBy: RunOrder, $orderByMetric: MetricOrder) {
  project(owner: "ada", name: "mnist") {
    experiments(first: $first, after: $after, orderBy: $orderBy, orderByMetric: $orderByMetric) {
      nodes { internalId }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

interface Page {
  readonly nodes: readonly { readonly internalId: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}
interface Experiments {
  readonly project: { readonly experiments: Page };
}

const DATES = ["UPDATED", "CREATED", "STARTED", "FINISHED"].flatMap((date) =>
  ["DESC", "ASC"].map((direction) => ({ orderBy: `${date}_${direction}` })),
);
const METRICS = ["ASC", "DESC"].map((direction) => ({ orderByMetric: { name: "loss", direction } }));
type Order = (typeof DATES | typeof METRICS)[number];

/** A gateway before a table, and a walk through it. `between` changes the table before each further page. */
async function startTable(profile = "polyaxon-0.4") {
  const current = { table: new RunTable() };
  const service = await startFake(({ path }) => ({
    json: current.table.page(new URL(path, "http://service").searchParams),
  }));
  const { ask } = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: profile, MAX_PAGE_SIZE: "20" },
  });
  const walk = async (order: Order | object, sizes: readonly number[], between = (_page: number) => {}) => {
    const shown: number[] = [];
    let after: string | null = null;
    for (let page = 0; ; page++) {
      if (page > 0) between(page - 1);
      const first = sizes[page % sizes.length];
      const answer: { data: Experiments; errors?: unknown } = await ask<Experiments, object>(QUERY, {
        first,
        after,
        ...order,
      });
      expect(answer.errors).toBeUndefined();
      const { nodes, pageInfo }: Page = answer.data.project.experiments;
      shown.push(...nodes.map(({ internalId }) => Number(internalId)));
      after = pageInfo.endCursor ?? after;
      if (!pageInfo.hasNextPage) return shown;
    }
  };
  return { current, walk, service };
}

const oneOf = <Value>(...values: Value[]) => fc.constantFrom(...values);

/** Runs with few different values, as those of a search that ended together. */
const rows = fc
  .array(
    fc.record({
      updated_at: oneOf(1, 2),
      started_at: oneOf(null, 1, 2),
      finished_at: oneOf(null, 3, 4),
      loss: oneOf(null, 0.1, 0.2),
    }),
    { maxLength: 40 },
  )
  .map((all) => all.map((row, index) => ({ ...row, id: index + 1, created_at: (index * 29) % 41 })));

const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 });

const tableOf = (all: readonly TableRun[]) => {
  const table = new RunTable();
  for (const row of all) table.runs.set(row.id, row);
  return table;
};

test.each(POLYAXON)(
  "a walk in any order shows each run once, also among equal ones, with %s",
  async (profile) => {
    const { current, walk } = await startTable(profile);
    await fc.assert(
      fc.asyncProperty(oneOf<Order>(...DATES, ...METRICS), rows, sizes, async (order, all, firsts) => {
        current.table = tableOf(all);
        const isLargestFirst = "orderByMetric" in order && order.orderByMetric.direction === "DESC";
        const listed = all.filter(({ loss }) => !isLargestFirst || loss !== null).map(({ id }) => id);
        const shown = await walk(order, firsts);
        expect(shown.toSorted((a, b) => a - b)).toEqual(listed);
      }),
      { numRuns: cases(60, 600) },
    );
  },
);

const IDS = Array.from({ length: 12 }, (_, index) => index + 1);
/** Twelve runs, created one after the other. */
const twelve = () =>
  tableOf(
    IDS.map((id) => ({ id, created_at: id, updated_at: 1, started_at: 1, finished_at: null, loss: null })),
  );

test("from the oldest on, runs that are created meanwhile come last, and none twice", async () => {
  const { current, walk, service } = await startTable();
  current.table = twelve();
  const create = (page: number) => {
    if (page < 2) current.table.create(13 + page);
  };
  expect(await walk({ orderBy: "CREATED_ASC" }, [5], create)).toEqual([...IDS, 13, 14]);
  expect(service.calls()).toHaveLength(3);
});

test.each(["offset=10#0", "offset=10#0#10.12.1970-01-01T00:00:00.010Z"])(
  "a cursor of an earlier release goes on where it ended: %s",
  async (cursor) => {
    const { current, service } = await startTable();
    current.table = twelve();
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const after = Buffer.from(cursor).toString("base64url");
    const { data } = await ask<Experiments, object>(QUERY, { first: 4, after, orderBy: "CREATED_ASC" });
    expect(data.project.experiments.nodes).toEqual([{ internalId: "11" }, { internalId: "12" }]);
  },
);
