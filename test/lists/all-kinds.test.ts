import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { pageOf } from "../support/fake.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";
import { type Listed, listIn } from "../support/listed.ts";

/* Runs of all kinds in one list. */

interface Row {
  readonly id: number;
  readonly created_at?: string;
  readonly started_at?: string | null;
  readonly description?: string;
}

type Rows = Readonly<Partial<Record<"experiments" | "jobs" | "builds" | "groups", readonly Row[]>>>;

/** Starts a server with these rows in its lists, in the given order. */
async function startLists(rows: Rows, env: Record<string, string> = {}) {
  const { service, ask } = await startBefore(
    (seen) => {
      const [, kind = ""] = /ada\/mnist\/(\w+)/.exec(seen.path) ?? [];
      return pageOf(rows[kind as keyof Rows] ?? [], seen);
    },
    { ...RELEASE_04, ...env },
  );
  const pageAfter = async (variables: object): Promise<Listed> => {
    const answer = await ask(LIST, variables);
    expect(errorsOf(answer)).toEqual([]);
    return listIn(answer, "project.runs");
  };
  return { ask, service, pageAfter };
}

const LIST = `query ($kinds: [RunKind!], $filter: RunFilter, $order: RunOrder, $first: Int, $after: String) {
  project(id: "ada.mnist") { runs(kinds: $kinds, filter: $filter, order: $order, first: $first, after: $after) {
    nodes { reference } edges { cursor } totalCount scan { scannedRows isComplete }
    pageInfo { hasNextPage hasPreviousPage endCursor }
  } }
}`;

const idsOf = ({ nodes }: Listed) => nodes.map(({ reference }) => `${reference}`.replace("ada.mnist.", ""));

/** A row that was created at this second, or without a time. */
const at = (id: number, second: number): Row => ({
  id,
  created_at: `2026-03-01T10:00:${`${second}`.padStart(2, "0")}.5Z`,
});

const CREATED = "sort=-created_at%2C-updated_at";

test("runs of all kinds form one list, newest first", async () => {
  const { pageAfter, service } = await startLists({
    experiments: [at(9, 50), at(8, 20)],
    jobs: [at(3, 40)],
    builds: [at(5, 40), at(4, 10)],
  });
  const first = await pageAfter({ first: 3 });
  expect(idsOf(first)).toEqual(["experiments.9", "jobs.3", "builds.5"]);
  expect(first).toMatchObject({ totalCount: 5, scan: null, pageInfo: { hasNextPage: true } });
  const last = await pageAfter({ first: 3, after: first.pageInfo.endCursor });
  expect(idsOf(last)).toEqual(["experiments.8", "builds.4"]);
  expect(last).toMatchObject({ totalCount: 5, pageInfo: { hasNextPage: false, hasPreviousPage: true } });
  // Jobs and groups have ended.
  expect(service.calls()).toEqual([
    ...["builds", "experiments"].flatMap((kind) => [
      `GET ada/mnist/${kind}?${CREATED}&limit=3`,
      `GET ada/mnist/${kind}?${CREATED}&limit=3&offset=1`,
    ]),
    `GET ada/mnist/groups?${CREATED}&limit=3`,
    `GET ada/mnist/jobs?${CREATED}&limit=3`,
  ]);
});

test("one request per kind finds the tagged runs of a week", async () => {
  const { pageAfter, service } = await startLists({ jobs: [{ id: 3, started_at: "2026-03-05T10:00:00Z" }] });
  const page = await pageAfter({
    filter: { tags: ["best"], startedAt: { from: "2026-03-01" } },
    order: { by: { field: "STARTED_AT" } },
    first: 20,
  });
  expect(idsOf(page)).toEqual(["jobs.3"]);
  const query = "sort=-started_at%2C-created_at&query=tags%3Abest%2Cstarted_at%3A%3E%3D2026-03-01&limit=20";
  const lists = ["builds", "experiments", "groups", "jobs"];
  expect(service.calls()).toEqual(lists.map((kind) => `GET ada/mnist/${kind}?${query}`));
});

test("a filter that only some kinds support selects only those kinds", async () => {
  const { pageAfter, service } = await startLists({});
  await pageAfter({ kinds: ["JOB", "EXPERIMENT", "JOB"], filter: { builds: ["ada.mnist.builds.5"] } });
  const query = `${CREATED}&query=build%3A5`;
  expect(service.calls()).toEqual(["experiments", "jobs"].map((kind) => `GET ada/mnist/${kind}?${query}`));
});

test.each([
  [
    `filter: { builds: "ada.mnist.builds.5" }`,
    "filter.builds: expected only for lists of experiments or jobs, got a list with build jobs, groups",
  ],
  [
    `filter: { metrics: { name: "loss" } }, kinds: [JOB, EXPERIMENT]`,
    "filter.metrics: expected only for lists of experiments, got a list with jobs",
  ],
  [
    `order: { by: { metric: "loss" } }`,
    "order.by: expected a time by which the server sorts, such as CREATED_AT, because several kinds are merged by it",
  ],
  [
    `order: { by: { field: DURATION } }`,
    "order.by: expected a time by which the server sorts, such as CREATED_AT, because several kinds are merged by it",
  ],
  [`kinds: []`, "kinds: expected at least one kind, got none"],
  [`after: "~.~.~.~.x"`, `after: expected a cursor of this list, got "~.~.~.~.x"`],
  [`first: 0`, "first: expected 1 to 500, got 0"],
])("a list of several kinds refuses %s", async (args, message) => {
  const { ask, service } = await startLists({});
  const answer = await ask(`{ project(id: "ada.mnist") { name runs(${args}) { totalCount } } }`);
  expect(outcomeOf(answer)).toEqual({
    data: { project: { name: "mnist", runs: null } },
    errors: [failure("project.runs", "BAD_USER_INPUT", message)],
  });
  expect(service.calls()).toEqual([]);
});

test("a cursor is refused with other kinds or another order", async () => {
  const { ask, pageAfter } = await startLists({ jobs: [at(3, 40), at(2, 30)] });
  const { pageInfo } = await pageAfter({ first: 1 });
  const message = expect.stringMatching(/^after: expected a cursor of this list, got "/) as string;
  for (const other of [{ kinds: ["JOB"] }, { order: { by: { field: "UPDATED_AT" } } }]) {
    const answer = await ask(LIST, { ...other, after: pageInfo.endCursor });
    expect(outcomeOf(answer).errors).toEqual([failure("project.runs", "BAD_USER_INPUT", message)]);
  }
});

test("runs of all kinds require the capability LISTS", async () => {
  const { ask, service } = await startLists({}, { UPSTREAM_PROFILE: "document" });
  expect(errorsOf(await ask(LIST))).toMatchObject([{ code: "CAPABILITY_UNAVAILABLE" }]);
  expect(service.calls()).toEqual([]);
});

test("MAX_SCANNED_ROWS applies to all kinds together", async () => {
  const rows = Array.from({ length: 6 }, (_, index) => ({
    ...at(9 - index, 50 - index),
    description: index === 5 ? "the best" : "",
  }));
  const { pageAfter, service } = await startLists(
    { experiments: rows, jobs: rows },
    { MAX_SCANNED_ROWS: "8" },
  );
  const filter = { words: "best" };
  const kinds = ["EXPERIMENT", "JOB"];
  const first = await pageAfter({ kinds, filter });
  expect(first).toMatchObject({
    nodes: [],
    totalCount: null,
    scan: { scannedRows: 8, isComplete: false },
    pageInfo: { hasNextPage: true },
  });
  const last = await pageAfter({ kinds, filter, after: first.pageInfo.endCursor });
  expect(idsOf(last)).toEqual(["experiments.4", "jobs.4"]);
  expect(last).toMatchObject({
    scan: { scannedRows: 4, isComplete: true },
    pageInfo: { hasNextPage: false },
  });
  const pages = ["4", "4&offset=4"].map((page) => `${CREATED}&limit=${page}`);
  const calls = ["experiments", "jobs"].flatMap((kind) =>
    pages.map((page) => `GET ada/mnist/${kind}?${page}`),
  );
  expect(service.calls()).toEqual(calls);
});

/** Rows as servers sort them: a run without the time is the latest. */
const sortedBy = (direction: string, seconds: readonly (number | null)[]): Row[] => {
  const sign = direction === "ASC" ? 1 : -1;
  return seconds
    .map((second, id) => ({ id, second: second ?? 60, isFound: id % 2 === 0 }))
    .toSorted((one, other) => sign * (one.second - other.second) || one.id - other.id)
    .map(({ id, second, isFound }) => ({
      id: id + 1,
      started_at: second === 60 ? null : `2026-03-01T10:00:0${second}Z`,
      description: isFound ? "wanted" : "",
    }));
};

test("paging returns each run once and in order", async () => {
  const seconds = fc.array(fc.constantFrom(1, 2, 3, null), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(seconds, seconds, seconds),
      fc.constantFrom("ASC", "DESC"),
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      fc.boolean(),
      async (all, direction, size, isScan, isByEdge) => {
        const [experiments = [], jobs = [], builds = []] = all.map((each) => sortedBy(direction, each));
        const rows = { experiments, jobs, builds };
        const { pageAfter } = await startLists(rows, { MAX_SCANNED_ROWS: "9", MAX_PAGE_SIZE: "5" });
        const order = { by: { field: "STARTED_AT" }, direction };
        const filter = isScan ? { words: "wanted" } : null;
        const found: string[] = [];
        let after: string | null | undefined = null;
        for (let pages = 0; pages < 60; pages++) {
          const page: Listed = await pageAfter({ order, filter, first: size, after });
          // A cursor in the middle of a page continues after its item.
          const taken = isByEdge && page.edges.length > 1 ? 1 : page.edges.length;
          found.push(...idsOf(page).slice(0, taken));
          after = taken < page.edges.length ? page.edges[taken - 1]?.cursor : page.pageInfo.endCursor;
          if (taken === page.edges.length && !page.pageInfo.hasNextPage) break;
        }
        const merged = Object.entries(rows).flatMap(([kind, list]) =>
          list
            .filter(({ description }) => !isScan || description === "wanted")
            .map(({ id, started_at: time }) => ({ name: `${kind}.${id}`, time: time ?? "9" })),
        );
        const sign = direction === "ASC" ? 1 : -1;
        const inOrder = merged.toSorted(
          (one, other) => sign * (one.time < other.time ? -1 : +(one.time > other.time)),
        );
        expect(found).toEqual(inOrder.map(({ name }) => name));
      },
    ),
    { numRuns: cases(8, 80) },
  );
});
