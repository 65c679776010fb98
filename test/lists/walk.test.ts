import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { POLYAXON } from "../support/profiles.ts";
import { RunTable, type TableRun } from "../support/run-table.ts";
import { profileFile } from "../support/tracker.ts";

/*
 * Walks through lists of runs, page by page, in any order and with pages of any length, while runs come, go and move.
 */

const QUERY = `query ($first: Int, $after: String, $orderBy: RunOrder, $orderByMetric: MetricOrder) {
  project(owner: "ada", name: "mnist") {
    experiments(first: $first, after: $after, orderBy: $orderBy, orderByMetric: $orderByMetric) {
      nodes { internalId }
      pageInfo { hasNextPage endCursor }
      isContinuous
    }
  }
}`;

interface Page {
  readonly nodes: readonly { readonly internalId: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  readonly isContinuous: boolean | null;
}
interface Experiments {
  readonly project: { readonly experiments: Page };
}

const DATES = ["UPDATED", "CREATED", "STARTED", "FINISHED"].flatMap((date) => [
  { orderBy: `${date}_DESC` },
  { orderBy: `${date}_ASC` },
]);
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
    const signs: (boolean | null)[] = [];
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
      const { nodes, pageInfo, isContinuous }: Page = answer.data.project.experiments;
      shown.push(...nodes.map(({ internalId }) => Number(internalId)));
      signs.push(isContinuous);
      after = pageInfo.endCursor ?? after;
      if (!pageInfo.hasNextPage) return { shown, signs };
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

/** What can happen to a run between two pages. */
const CHANGES = {
  create: (table: RunTable) => table.change(Math.max(0, ...table.runs.keys()) + 1, {}),
  start: (table: RunTable, id: number) => table.change(id, (now) => ({ started_at: now })),
  finish: (table: RunTable, id: number) => table.change(id, (now) => ({ finished_at: now })),
  touch: (table: RunTable, id: number) => table.change(id, {}),
  measure: (table: RunTable, id: number) => table.change(id, (now) => ({ loss: (now % 4) / 10 })),
  remove: (table: RunTable, id: number) => void table.runs.delete(id),
} as const;

interface Change {
  readonly what: keyof typeof CHANGES;
  readonly which: number;
}
const change: fc.Arbitrary<Change> = fc.record({
  what: oneOf("create", "start", "finish", "touch", "measure", "remove"),
  which: fc.nat({ max: 100 }),
});

test.each(POLYAXON)(
  "a walk in any order shows each run once, also among equal ones, with %s",
  async (profile) => {
    const { current, walk } = await startTable(profile);
    await fc.assert(
      fc.asyncProperty(oneOf<Order>(...DATES, ...METRICS), rows, sizes, async (order, all, firsts) => {
        current.table = tableOf(all);
        const isLargestFirst = "orderByMetric" in order && order.orderByMetric.direction === "DESC";
        const listed = all.filter(({ loss }) => !isLargestFirst || loss !== null).map(({ id }) => id);
        const { shown, signs } = await walk(order, firsts);
        expect(shown.toSorted((a, b) => a - b)).toEqual(listed);
        // In the order of a metric, runs may have moved both ways.
        const sign = "orderBy" in order ? true : null;
        expect(signs).toEqual(signs.map((_, page) => (page === 0 ? true : sign)));
      }),
      { numRuns: cases(60, 600) },
    );
  },
);

/** The run of the cursor gets another value, and others that come and go make up for it. */
const CURSOR_MEASURED: [Order, TableRun[], number[], Change[][]] = [
  { orderByMetric: { name: "loss", direction: "ASC" } },
  [0.1, 0.1, 0.2].map((loss, index) => ({
    id: index + 1,
    created_at: [0, 29, 17][index] ?? 0,
    updated_at: 1,
    started_at: null,
    finished_at: null,
    loss,
  })),
  [2, 1],
  [
    [
      { what: "finish", which: 0 },
      { what: "measure", which: 0 },
      { what: "remove", which: 22 },
      { what: "create", which: 0 },
    ],
  ],
];

test("a walk while runs come, go and move shows each run that stays, or a page says that one may be missing", async () => {
  const { current, walk } = await startTable();
  const between = fc.array(fc.array(change, { maxLength: 4 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      oneOf<Order>(...DATES, ...METRICS),
      rows,
      sizes,
      between,
      async (order, all, firsts, changes) => {
        const table = tableOf(all);
        current.table = table;
        const changed = new Map<number, Set<Change["what"]>>();
        const { shown, signs } = await walk(order, firsts, (page) => {
          for (const { what, which } of changes[page] ?? []) {
            const ids = [...table.runs.keys()];
            const id = ids[which % Math.max(1, ids.length)] ?? 0;
            if (ids.length === 0 && what !== "create") continue;
            CHANGES[what](table, id);
            if (what !== "create") changed.set(id, (changed.get(id) ?? new Set()).add(what));
          }
        });
        const isMetric = "orderByMetric" in order;
        const isLargestFirst = isMetric && order.orderByMetric.direction === "DESC";
        const isSigned = signs.includes(false);
        for (const { id, loss } of all) {
          const own = changed.get(id) ?? new Set();
          if (own.has("remove") || (isLargestFirst && loss === null)) continue;
          const times = shown.filter((each) => each === id).length;
          // A metric can move to the pages before while another one moves back.
          const mayMiss = isSigned || (isMetric && own.has("measure"));
          expect({ id, isShown: times > 0 || mayMiss }).toEqual({ id, isShown: true });
          const mayRepeat = isSigned || own.size > 0;
          expect({ id, isOnce: times === 1 || mayRepeat }).toEqual({ id, isOnce: true });
        }
      },
    ),
    { numRuns: cases(150, 3_000), examples: [CURSOR_MEASURED] },
  );
});

test("by one key alone a server loses some of equal runs", async () => {
  const { current, walk } = await startTable(
    profileFile("extends: polyaxon-0.4\norders: {FINISHED_DESC: {sort: -finished_at}}"),
  );
  const row = { updated_at: 1, started_at: 1, finished_at: 2, loss: 0.1 };
  current.table = tableOf(
    Array.from({ length: 40 }, (_, index) => ({ ...row, id: index + 1, created_at: index })),
  );
  const { shown, signs } = await walk({ orderBy: "FINISHED_DESC" }, [8]);
  expect(new Set(shown).size).toBeLessThan(40);
  // The anchor is not where it was.
  expect(signs).toContain(false);
});

const IDS = Array.from({ length: 12 }, (_, index) => index + 1);
/** Twelve runs, created one after the other: by their creation, newest first, 12 to 1. */
const twelve = () =>
  tableOf(
    IDS.map((id) => ({
      id,
      created_at: id,
      updated_at: 1,
      started_at: 1,
      finished_at: id > 6 ? null : 2,
      loss: null,
    })),
  );

test.each<[string, string, (table: RunTable) => void, (boolean | null)[], number[], number]>([
  [
    "new runs before it repeat none",
    "CREATED_DESC",
    (table) => {
      for (const id of [13, 14]) table.change(id, {});
    },
    [true, true, true],
    IDS.toReversed(),
    1,
  ],
  [
    "runs that went before it are looked for once",
    "CREATED_DESC",
    (table) => {
      for (const id of [12, 11]) table.runs.delete(id);
    },
    [true, true, true],
    IDS.toReversed(),
    1,
  ],
  [
    "the run before it that went is a sign",
    "CREATED_DESC",
    (table) => void table.runs.delete(9),
    [true, false, true],
    IDS.toReversed(),
    1,
  ],
  [
    "nearly all of a list can have gone",
    "CREATED_DESC",
    (table) => {
      for (const id of IDS) if (id !== 2 && id !== 7) table.runs.delete(id);
    },
    [true, false],
    [12, 11, 10, 9, 7, 2],
    0,
  ],
  [
    "a run that moved from behind is missing with a sign",
    "UPDATED_DESC",
    (table) => table.change(2, {}),
    [true, false, true],
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 1],
    1,
  ],
])("behind a page, %s", async (_, orderBy, act, signs, shown, extra) => {
  const { current, walk, service } = await startTable();
  current.table = twelve();
  expect(await walk({ orderBy }, [4], (page) => page === 0 && act(current.table))).toEqual({ shown, signs });
  expect(service.calls()).toHaveLength(3 + extra);
  expect(service.calls().filter((call) => /limit=(?!\d)/.test(call))).toEqual([]);
});

test("a cursor of an earlier release goes on where it ended, without a sign", async () => {
  const { current, service } = await startTable();
  current.table = twelve();
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const after = Buffer.from("offset=10#0").toString("base64url");
  const { data } = await ask<Experiments, object>(QUERY, { first: 4, after, orderBy: "CREATED_ASC" });
  expect(data.project.experiments).toMatchObject({
    nodes: [{ internalId: "11" }, { internalId: "12" }],
    isContinuous: null,
  });
});
