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

const QUERY = `query ($first: Int, $after: String, $order: RunOrder) {
  project(id: "ada.mnist") {
    experiments(first: $first, after: $after, order: $order) {
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
  ["DESC", "ASC"].map((direction) => ({ field: `${date}_AT`, direction })),
);
const METRICS = ["ASC", "DESC"].map((direction) => ({ metric: "loss", direction }));
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
  const walk = async (order: Order, sizes: readonly number[], between = (_page: number) => {}) => {
    const shown: number[] = [];
    let after: string | null = null;
    for (let page = 0; ; page++) {
      if (page > 0) between(page - 1);
      const first = sizes[page % sizes.length];
      const answer: { data: Experiments; errors?: unknown } = await ask<Experiments, object>(QUERY, {
        first,
        after,
        order,
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
        // A metric that no run has is an error.
        fc.pre(!("metric" in order) || all.length === 0 || all.some(({ loss }) => loss !== null));
        current.table = tableOf(all);
        const isLargestFirst = "metric" in order && order.direction === "DESC";
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
  expect(await walk({ field: "CREATED_AT", direction: "ASC" }, [5], create)).toEqual([...IDS, 13, 14]);
  expect(service.calls()).toHaveLength(3);
});

test("a cursor belongs to its list: another order, filter or parent refuses it", async () => {
  const { current, service } = await startTable();
  current.table = twelve();
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const list = (args: string, parent = `project(id: "ada.mnist")`) =>
    ask<{ of: { experiments: Page | null } }, object>(
      `{ of: ${parent} { experiments(first: 4, ${args}) { nodes { internalId } pageInfo { hasNextPage endCursor } } } }`,
    );
  const order = "order: { field: CREATED_AT, direction: ASC }";
  const { data } = await list(order);
  const after = `after: "${data.of.experiments?.pageInfo.endCursor}"`;
  const next = await list(`${order}, ${after}`);
  expect(next.data.of.experiments?.nodes[0]).toEqual({ internalId: "5" });
  const requests = service.calls().length;
  for (const [args, parent] of [
    [`order: { field: CREATED_AT }`],
    [`${order}, filter: { statuses: [FAILED] }`],
    [`${order}, filter: { words: "a" }`],
    [`${order}, query: "id:1"`],
    [order, `project(id: "ada.speech")`],
    [order, `group(id: "ada.mnist.1")`],
  ]) {
    const { errors } = await list(`${args}, ${after}`, parent);
    expect(errors?.map(({ message }) => message)).toEqual([
      expect.stringContaining("after: expected a cursor of this list"),
    ]);
  }
  // The group alone is read, to know that it is there.
  expect(service.calls().length).toBeLessThanOrEqual(requests + 1);
});
