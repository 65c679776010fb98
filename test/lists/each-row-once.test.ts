import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { pageOf, startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { type Listed, listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import { idsIn, listOf, numbers, RUNS, sorted, startShuffling, tiesOf } from "./shuffled.ts";

/* The pages of a list that are read in any way have each row once, although the service changes the order of equal rows. */

const STATUSES = `query ($first: Int, $after: String, $last: Int, $before: String) { of: job(id: "ada.mnist.jobs.7") {
  page: statuses(first: $first, after: $after, last: $last, before: $before) {
    nodes { internalId } pageInfo { startCursor endCursor }
  }
} }`;

const JOBS = listOf("jobs(first: $first, after: $after)", `experiment(id: "ada.mnist.experiments.7")`);

type ReadPage = (variables: object) => Promise<Listed>;

/** Reads pages of these sizes by their numbers, the last page first. */
async function byNumber(read: ReadPage, sizes: readonly number[]): Promise<number[]> {
  const found: number[] = [];
  let offset = sizes.reduce((sum, size) => sum + size, 0);
  for (const first of sizes.toReversed())
    found.push(...idsIn(await read({ first, offset: (offset -= first) })));
  return found;
}

async function byCursor(read: ReadPage, sizes: readonly number[]): Promise<number[]> {
  const found: number[] = [];
  let after: string | null = null;
  for (const first of sizes) {
    const page: Listed = await read({ first, after });
    found.push(...idsIn(page));
    after = page.pageInfo.endCursor;
  }
  return found;
}

async function fromTheEnd(read: ReadPage, sizes: readonly number[]): Promise<number[]> {
  const found: number[] = [];
  let before: string | null = null;
  for (const last of sizes.toReversed()) {
    const page: Listed = await read({ last, before });
    found.push(...idsIn(page));
    before = page.pageInfo.startCursor;
  }
  return found;
}

const byDate = { order: { by: { field: "CREATED_AT" }, direction: "ASC" } };
const byParameter = { order: { by: { parameter: "tie" }, direction: "DESC" } };

const WAYS = {
  "numbered pages by date": [RUNS, byDate, byNumber],
  "numbered pages by a parameter": [RUNS, byParameter, byNumber],
  "pages by a parameter": [RUNS, byParameter, byCursor],
  "pages of statuses": [STATUSES, {}, byCursor],
  "pages of statuses from the end": [STATUSES, {}, fromTheEnd],
  "pages of jobs": [JOBS, {}, byCursor],
} as const;

const pagesOf = (maxSize: number) =>
  profileFile(
    `extends: polyaxon-0.4\npaging: {by: offset, parameter: offset, size: limit, maxSize: ${maxSize}}`,
  );
const [SHORT_PAGES, LONGER_PAGES] = [pagesOf(50), pagesOf(100)];

/** Page sizes for a list: large pages of the first rows, whose ties are not tested, and then small pages. */
function sizesFor(total: number, untested: number, small: readonly number[]): number[] {
  const sizes: number[] = [];
  for (let [from, index] = [0, 0]; from < total; index++) {
    const rest = untested - 20 - from;
    const size = rest > 20 ? Math.min(rest, 490) : (small[index % small.length] ?? 1);
    sizes.push(Math.min(size, total - from));
    from += size;
  }
  return sizes;
}

/** Lists with a tie around row 1,000, and with a tie that ends after the last page that is read at once. */
const EXAMPLES: [number, number[], number[]][] = [
  [989, [11, 14, 3], [7]],
  [0, [7, 14], [19, 1]],
];

describe.each([
  ["a server with pages of any size", RELEASE_04, 40, Infinity],
  ["a server with pages of 50 rows", { UPSTREAM_PROFILE: SHORT_PAGES }, 15, 50],
  ["a server with pages of 50 rows, which its profile does not say", RELEASE_04, 15, 50],
] as const)("on %s", (_, env, longest, most) => {
  test.each(Object.entries(WAYS))("%s contain each row once", async (__, [query, variables, walk]) => {
    const { state, pageIn } = await startShuffling([], env, most);
    const read = (more: object) => pageIn(query, { ...variables, ...more });
    await fc.assert(
      fc.asyncProperty(
        // A tie that extends past a multiple of 100 or 1,000 is in no block of that size.
        fc.constantFrom(0, 93, 989, 997),
        fc.array(fc.integer({ min: 2, max: longest }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 4 }),
        async (untested, lengths, small) => {
          const ties = tiesOf([...numbers(untested).map(() => 1), ...lengths]);
          state.ties = ties.map((rows, tie) => rows.map((row) => ({ ...row, declarations: { tie } })));
          const total = state.ties.flat().length;
          const found = await walk(read, sizesFor(total, untested, small));
          expect(sorted([found])).toEqual(numbers(total));
        },
      ),
      { numRuns: cases(8, 60), examples: EXAMPLES },
    );
  });
});

test.each(["pages of statuses", "pages of jobs"] as const)(
  "%s contain each row once, even if ties span the server's pages",
  async (name) => {
    const [query, variables, walk] = WAYS[name];
    const { state, pageIn } = await startShuffling([], { UPSTREAM_PROFILE: LONGER_PAGES });
    const read = (more: object) => pageIn(query, { ...variables, ...more });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 35, max: 45 }), { minLength: 12, maxLength: 14 }),
        fc.integer({ min: 5, max: 25 }),
        async (lengths, size) => {
          state.ties = tiesOf(lengths);
          const total = state.ties.flat().length;
          expect(sorted([await walk(read, sizesFor(total, 0, [size]))])).toEqual(numbers(total));
        },
      ),
      { numRuns: cases(8, 60) },
    );
  },
);

test("reads only the requested rows if the surrounding rows are too large", async () => {
  const { service, state, pageIn } = await startShuffling(
    numbers(200).map(() => 1),
    {
      ...RELEASE_04,
      MAX_JSON_BYTES: "20000",
    },
  );
  state.ties = state.ties.map((rows) =>
    rows.map((row) => (row.id > 25 ? { ...row, name: "n".repeat(1_000) } : row)),
  );
  expect(await byCursor((variables) => pageIn(STATUSES, variables), [10, 10])).toEqual(numbers(20));
  const path = "GET ada/mnist/jobs/7/statuses/?";
  const queries = ["limit=10", "limit=10&offset=10", "limit=100", "limit=100"];
  expect(service.calls()).toEqual(queries.map((query) => path + query));
});

const HOUR = 3_600_000;

const DURATIONS = `query ($after: String) { project(id: "ada.mnist") {
  experiments(first: 3, after: $after, order: { by: { field: DURATION } }) {
    nodes { internalId } pageInfo { hasNextPage endCursor }
  }
} }`;

describe("a list ordered by duration", () => {
  /**
   * Starts a service with 40 runs of which 20 are active. Each time that the list is read, its clock has advanced by ten minutes: active
   * runs have overtaken others, and one of them has ended.
   */
  async function startAging() {
    const start = Date.now();
    // The active runs have about the durations of the runs that have ended.
    const runs: { readonly id: number; readonly startedAt: number; endedAt: number | null }[] = numbers(
      40,
    ).map((id) =>
      id % 2 === 0
        ? { id, startedAt: start - (12 + id / 20) * HOUR, endedAt: null }
        : { id, startedAt: start - (24 + id / 20) * HOUR, endedAt: start - 12 * HOUR },
    );
    const timeOf = (time: number | null) => time && new Date(time).toISOString();
    const rowOf = ({ id, startedAt, endedAt }: (typeof runs)[number]) => ({
      id,
      last_status: endedAt ? "succeeded" : "running",
      created_at: timeOf(start - (100 - id) * HOUR),
      started_at: timeOf(startedAt),
      finished_at: timeOf(endedAt),
      declarations: { id },
    });
    let now = start;
    const service = await startFake((seen) => {
      if (!seen.path.includes("offset")) {
        now += HOUR / 6;
        const active = runs.find(({ endedAt }) => endedAt === null);
        if (active) active.endedAt = now - HOUR / 12;
      }
      return { ...pageOf(runs.map(rowOf), seen), headers: { date: new Date(now).toUTCString() } };
    });
    return startGateway({ upstream: service, env: { ...RELEASE_04, MAX_PAGE_SIZE: "15" } });
  }

  test("returns each row in one page, even while active runs end", async () => {
    const { ask } = await startAging();
    const found: number[] = [];
    for (let after: string | null = null; found.length < 100;) {
      const page: Listed = listIn(await ask(DURATIONS, { after }), "project.experiments");
      found.push(...idsIn(page));
      if (!page.pageInfo.hasNextPage) break;
      after = page.pageInfo.endCursor;
    }
    expect(sorted([found])).toEqual(numbers(40));
  });

  test("is exported with each row once, even while active runs end", async () => {
    const { url } = await startAging();
    const order = encodeURIComponent(JSON.stringify({ by: { field: "DURATION" } }));
    const table = await fetch(`${url}/export/ada.mnist/runs.csv?columns=parameter.id&order=${order}`, {
      headers: { authorization: "token t0ken" },
    });
    const [, ...ids] = (await table.text()).trimEnd().split("\r\n");
    expect(sorted([ids.map(Number)])).toEqual(numbers(40));
  });
});
