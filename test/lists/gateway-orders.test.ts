import { describe, expect, onTestFinished, test, vi } from "vitest";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";
import { opaque } from "../support/ids.ts";
import { listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import { inProject, startRows } from "./rows.ts";

/* Orders that servers do not support: the gateway reads the whole list and sorts it. */

const QUERY = `query ($first: Int, $offset: Int, $after: String, $order: RunOrder!, $filter: RunFilter) {
  project(id: "ada.mnist") {
    experiments(first: $first, offset: $offset, after: $after, order: $order, filter: $filter) {
      nodes { internalId }
      edges { cursor }
      pageInfo { hasPreviousPage hasNextPage endCursor }
      totalCount
      scan { scannedRows isComplete }
    }
  }
}`;

const byLr = (direction: string) => ({ by: { parameter: "lr" }, direction });
const byDuration = (direction: string) => ({ by: { field: "DURATION" }, direction });

/** Runs that were created one after the other, with values of `lr`; undefined for a run without parameters. */
const runsOf = (values: readonly unknown[]) =>
  values.map((lr, index) => ({
    id: index + 1,
    created_at: `2026-01-${10 + index}T00:00:00Z`,
    declarations: lr === undefined ? null : { lr, model: { size: 20 - index } },
  }));

async function startSorted(rows: readonly object[], env: Record<string, string> = {}) {
  const { ask, service, url } = await startRows(rows, env);
  const listed = async (variables: object) => {
    const list = listIn(await ask(QUERY, variables), "project.experiments");
    const { nodes, pageInfo, totalCount, scan, edges } = list;
    return { ids: nodes.map(({ internalId }) => Number(internalId)), ...pageInfo, totalCount, scan, edges };
  };
  const idsBy = async (order: object) => (await listed({ order })).ids;
  const refused = async (variables: object) => errorsOf(await ask(QUERY, variables));
  /** The upstream requests since the last call. */
  let from = 0;
  const calls = () => {
    const all = service.inOrder().slice(from);
    from += all.length;
    return all;
  };
  return { ask, url, listed, idsBy, refused, calls };
}

const LIST = "GET ada/mnist/experiments?sort=created_at%2C-updated_at";
const WHOLE = `${LIST}&limit=500`;

const MIXED = runsOf([0.1, "a", 0.02, null, undefined, "B", 5, true, [1], 5, "10"]);

const [day, hour] = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"];
const ENDED = [{ id: 1, created_at: day, last_status: "succeeded", started_at: day, finished_at: hour }];

describe("the order by a parameter", () => {
  test("sorts numbers before strings, and omits runs without either", async () => {
    const { listed, calls } = await startSorted(MIXED);
    const ascending = { ids: [3, 1, 7, 10, 11, 6, 2], totalCount: 7 };
    expect(await listed({ order: byLr("ASC") })).toMatchObject({
      ...ascending,
      hasPreviousPage: false,
      hasNextPage: false,
      scan: { scannedRows: 11, isComplete: true },
    });
    expect(calls()).toEqual([WHOLE]);
    // Equal values are sorted by id in both directions.
    const descending = { ids: [2, 6, 11, 7, 10, 1, 3], totalCount: 7 };
    expect(await listed({ order: byLr("DESC") })).toMatchObject(descending);
    expect(await listed({ order: { by: { parameter: "lr" } } })).toMatchObject(descending);
    expect(calls()).toEqual([WHOLE, WHOLE]);
  });

  test("finds a parameter by its path", async () => {
    const { idsBy, calls } = await startSorted(runsOf([1, undefined, 1]));
    expect(await idsBy({ by: { parameter: "model.size" }, direction: "ASC" })).toEqual([3, 1]);
    expect(calls()).toEqual([WHOLE]);
  });

  test("sorts the rows that match the server's and the gateway's conditions", async () => {
    const { listed, calls } = await startSorted(MIXED);
    const filter = { statuses: ["CREATED"], parameters: [{ name: "lr", atLeast: 0.1 }] };
    expect(await listed({ order: byLr("DESC"), filter, first: 2 })).toMatchObject({
      ids: [7, 10],
      hasNextPage: true,
      totalCount: 3,
      scan: { scannedRows: 11, isComplete: true },
    });
    expect(calls()).toEqual([`${LIST}&query=status%3Acreated&limit=500`]);
  });

  test("is refused if no experiment has the parameter", async () => {
    const { refused, listed, calls } = await startSorted(runsOf([1, true]));
    const order = { by: { parameter: "rl" } };
    const message =
      'order.by.parameter: expected a parameter of the list, got "rl", which no experiment has; there are "lr", "model.size"';
    expect(await refused({ order })).toEqual([failure("project.experiments", "BAD_USER_INPUT", message)]);
    expect(calls()).toEqual([WHOLE]);
    // Two paths lead to the same name.
    const twice = { id: 1, declarations: { "a.b.c": 1, a: { b: { c: 2, d: 3 } } } };
    expect(await (await startSorted([twice])).refused({ order })).toMatchObject([
      { message: expect.stringMatching(/; there are "a\.b\.c", "a\.b\.d"$/) },
    ]);
    const empty = { ids: [], totalCount: 0, hasPreviousPage: false, hasNextPage: false };
    const filter = { parameters: [{ name: "lr", values: ["true"] }] };
    expect(await listed({ order: byLr("ASC"), filter })).toMatchObject(empty);
    expect(await (await startSorted([])).listed({ order })).toMatchObject(empty);
  });
});

describe("a page of a list that the gateway sorts", () => {
  test("continues after a cursor, and reads the whole list each time", async () => {
    const { listed, calls } = await startSorted(MIXED, { MAX_PAGE_SIZE: "4" });
    const order = byLr("ASC");
    const reads = [`${LIST}&limit=4`, `${LIST}&limit=4&offset=4`, `${LIST}&limit=4&offset=8`];
    const first = await listed({ order, first: 3 });
    expect(first).toMatchObject({ ids: [3, 1, 7], hasPreviousPage: false, hasNextPage: true });
    expect(calls()).toEqual(reads);
    const second = await listed({ order, first: 3, after: first.endCursor });
    expect(second).toMatchObject({ ids: [10, 11, 6], hasPreviousPage: true, hasNextPage: true });
    const last = await listed({ order, first: 3, after: second.endCursor });
    expect(last).toMatchObject({ ids: [2], hasPreviousPage: true, hasNextPage: false, totalCount: 7 });
    expect(await listed({ order, first: 1, after: first.edges[0]?.cursor })).toMatchObject({ ids: [1] });
    expect(calls()).toEqual([...reads, ...reads, ...reads]);
  });

  test("starts at an offset", async () => {
    const { listed, calls } = await startSorted(MIXED);
    const order = byLr("ASC");
    expect(await listed({ order, first: 2, offset: 4 })).toMatchObject({
      ids: [11, 6],
      hasPreviousPage: true,
      hasNextPage: true,
      totalCount: 7,
    });
    expect(await listed({ order, first: 2, offset: 7 })).toMatchObject({
      ids: [],
      hasPreviousPage: true,
      hasNextPage: false,
      endCursor: null,
    });
    expect(calls()).toEqual([WHOLE, WHOLE]);
  });

  test("refuses a cursor of another order, and sends nothing", async () => {
    const { listed, refused, calls } = await startSorted(MIXED);
    const orders = [
      byLr("ASC"),
      byLr("DESC"),
      byDuration("ASC"),
      { by: { parameter: "model.size" }, direction: "ASC" },
      { by: { field: "CREATED_AT" }, direction: "ASC" },
    ];
    const cursors = [];
    for (const order of orders) cursors.push((await listed({ order, first: 1 })).endCursor);
    calls();
    for (const [at, order] of orders.entries())
      for (const [from, after] of cursors.entries()) {
        if (at === from || after === null) continue;
        const message = `after: expected a cursor of this list, got ${JSON.stringify(after.slice(0, 60))}`;
        expect(await refused({ order, first: 1, after })).toEqual([
          failure("project.experiments", "BAD_USER_INPUT", message),
        ]);
      }
    expect(calls()).toEqual([]);
  });

  test.each([
    ["no time", ""],
    ["a time beyond all clocks", "@1000000000000000#"],
    ["a time that is not a number", "@-1#"],
  ])("refuses a cursor with %s, and sends nothing", async (_, time) => {
    const { listed, refused, calls } = await startSorted(MIXED);
    const order = byDuration("DESC");
    const { endCursor } = await (await startSorted(ENDED)).listed({ order, first: 1 });
    const text = Buffer.from(endCursor ?? "", "base64url").toString();
    expect(text).toMatch(/^#1#@\d{13}#[\w-]{8}$/);
    const after = opaque(text.replace(/@\d+#/, time));
    const message = `after: expected a cursor of this list, got ${JSON.stringify(after)}`;
    expect(await refused({ order, first: 1, after })).toEqual([
      failure("project.experiments", "BAD_USER_INPUT", message),
    ]);
    expect(calls()).toEqual([]);
    expect(await listed({ order, first: 1, after: endCursor })).toMatchObject({ ids: [] });
  });

  test.each([
    ["order.by.parameter", byLr("ASC")],
    ["order.by.field", byDuration("DESC")],
  ])("is refused if the list exceeds MAX_SCANNED_ROWS: %s", async (argument, order) => {
    const env = { MAX_SCANNED_ROWS: "4", MAX_PAGE_SIZE: "3" };
    const { refused, calls } = await startSorted(runsOf([1, 2, 3, 4, 5]), env);
    const message = `${argument}: expected a list of at most 4 runs, because the gateway sorts it; narrow it with \`filter\``;
    expect(await refused({ order, first: 1 })).toEqual([
      failure("project.experiments", "BAD_USER_INPUT", message),
    ]);
    expect(calls()).toEqual([`${LIST}&limit=3`, `${LIST}&limit=1&offset=3`]);
    const whole = await startSorted(runsOf([1, 2, 3, 4]), env);
    expect(await whole.listed({ order: byLr("DESC"), first: 1 })).toMatchObject({ ids: [4], totalCount: 4 });
  });

  test("is read together with the list's summary", async () => {
    const { ask, calls } = await startSorted(MIXED);
    const list = `experiments(first: 1, order: { by: { parameter: "lr" } })`;
    const answer = await ask(inProject(`${list} { nodes { internalId } summary { scannedRows } }`));
    expect(answer).toEqual({
      data: { project: { experiments: { nodes: [{ internalId: "2" }], summary: { scannedRows: 11 } } } },
    });
    expect(calls()).toEqual([WHOLE]);
    expect(await ask(inProject(`${list} { summary { scannedRows } }`))).toEqual({
      data: { project: { experiments: { summary: { scannedRows: 11 } } } },
    });
    expect(calls()).toEqual([WHOLE]);
  });
});

describe("the order by DURATION", () => {
  const at = (minute: number | null) => minute && `2026-01-01T00:0${minute}:00Z`;
  const timed = (id: number, status: string, start: number | null, end: number | null) => ({
    id,
    created_at: `2026-01-0${id}T00:00:00Z`,
    last_status: status,
    started_at: at(start),
    finished_at: at(end),
  });
  const RUNS = [
    timed(1, "succeeded", 1, 4),
    timed(2, "created", null, null),
    timed(3, "failed", 1, 2),
    // This run began long ago.
    timed(4, "running", 1, null),
    // This run has no end.
    timed(5, "stopped", 1, null),
    timed(6, "succeeded", 3, 5),
  ];

  test("compares ended and active runs, and omits runs without a duration", async () => {
    const { idsBy, listed, calls } = await startSorted(RUNS);
    expect(await idsBy(byDuration("ASC"))).toEqual([3, 6, 1, 4]);
    expect(await idsBy({ by: { field: "DURATION" } })).toEqual([4, 1, 6, 3]);
    expect(calls()).toEqual([WHOLE, WHOLE]);
    const page = await listed({ order: byDuration("ASC"), first: 2 });
    expect(page).toMatchObject({ ids: [3, 6], hasNextPage: true, totalCount: 4 });
    const rest = await listed({ order: byDuration("ASC"), first: 2, after: page.endCursor });
    expect(rest).toMatchObject({ ids: [1, 4], hasNextPage: false });
  });

  test("shows an active run once although it ends between two pages", async () => {
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    const lasting = (id: number, from: number, to: number) => ({
      ...timed(id, "succeeded", null, null),
      started_at: hoursAgo(from),
      finished_at: hoursAgo(to),
    });
    const active = { ...lasting(2, 5, 0), last_status: "running", finished_at: null as string | null };
    const { listed } = await startSorted([lasting(1, 10, 7), active, lasting(3, 20, 10)]);
    const order = byDuration("ASC");
    const page = await listed({ order, first: 2 });
    expect(page.ids).toEqual([1, 2]);
    // By the time of the next page, the run has lasted longer than all others.
    Object.assign(active, { last_status: "succeeded", finished_at: hoursAgo(-100) });
    expect((await listed({ order, first: 2, after: page.endCursor })).ids).toEqual([3]);
  });

  test("compares active runs as of the beginning of a slow read", async () => {
    const noon = Date.UTC(2026, 0, 1, 12);
    vi.useFakeTimers({ toFake: ["Date"], now: noon });
    onTestFinished(() => void vi.useRealTimers());
    const active = { ...timed(2, "running", null, null), started_at: "2026-01-01T07:00:00Z" };
    const ended = { ...timed(1, "succeeded", null, null), started_at: "2026-01-01T00:00:00Z" };
    const results: object[] = [{ ...ended, finished_at: "2026-01-01T05:42:00Z" }, active];
    const { ask } = await startBefore(() => {
      // The response takes an hour. Meanwhile the active run ends, which the next page shows.
      vi.setSystemTime(Date.now() + 3_600_000);
      const headers = { date: new Date().toUTCString() };
      return { json: { count: 2, next: null, results }, headers };
    }, RELEASE_04);
    const pageAfter = async (after: string | null) =>
      listIn(await ask(QUERY, { order: byDuration("ASC"), first: 1, after }), "project.experiments");
    const page = await pageAfter(null);
    expect(page.nodes).toEqual([{ internalId: "2" }]);
    results[1] = { ...active, last_status: "succeeded", finished_at: "2026-01-01T12:30:00Z" };
    expect((await pageAfter(page.pageInfo.endCursor)).nodes).toEqual([{ internalId: "1" }]);
  });

  test.each(["jobs", "buildJobs", "groups"])("sorts %s as well", async (list) => {
    const { ask, calls } = await startSorted(RUNS);
    const order = "order: { by: { field: DURATION }, direction: ASC }";
    const answer = await ask(
      inProject(`list: ${list}(${order}, first: 2) { nodes { internalId } totalCount }`),
    );
    expect(answer).toEqual({
      data: { project: { list: { nodes: [{ internalId: "3" }, { internalId: "6" }], totalCount: 4 } } },
    });
    const path = list === "buildJobs" ? "builds" : list;
    expect(calls()).toEqual([`GET ada/mnist/${path}?sort=created_at%2C-updated_at&limit=500`]);
  });
});

test("a list of a group is sorted with one request", async () => {
  const { ask, service } = await startBefore(
    () => ({ json: { count: MIXED.length, next: null, results: MIXED } }),
    RELEASE_04,
  );
  const order = `order: { by: { parameter: "lr" }, direction: ASC }`;
  const query = `{ group(id: "ada.mnist.7") { experiments(first: 1, ${order}) { nodes { internalId } } } }`;
  expect(await ask(query)).toEqual({
    data: { group: { experiments: { nodes: [{ internalId: "3" }] } } },
  });
  expect(service.calls()).toEqual([
    "GET ada/mnist/experiments?group=7&sort=created_at%2C-updated_at&limit=500",
  ]);
});

test.each([
  ["parameter", "declarations"],
  ["field", "started_at"],
])("order.by.%s is unavailable if rows do not contain %s", async (name, key) => {
  const profile = profileFile(`extends: polyaxon-0.4\nomittedInLists: {experiments: [${key}]}`);
  const { refused, calls } = await startSorted(MIXED, { UPSTREAM_PROFILE: profile });
  const message = expect.stringContaining(`\`order.by.${name}\` for such a list`);
  expect(await refused({ order: name === "field" ? byDuration("ASC") : byLr("ASC") })).toEqual([
    failure("project.experiments", "CAPABILITY_UNAVAILABLE", message),
  ]);
  expect(calls()).toEqual([]);
});

const NOT_NULL = "must be non-null";
const ONE_KEY = "Exactly one key must be specified";

test.each([
  ["two keys", `{ field: CREATED_AT, metric: "loss" }`],
  ["a parameter and a field", `{ parameter: "lr", field: DURATION }`],
  ["no key", "{}"],
  ["a null", "{ field: null }"],
])("order.by with %s is refused, and nothing is sent", async (_, by) => {
  const { ask, calls } = await startSorted(MIXED);
  const answer = await ask(inProject(`experiments(order: { by: ${by} }) { totalCount }`));
  expect(answer).toMatchObject({ errors: [{ extensions: { code: "BAD_USER_INPUT" } }] });
  expect(answer).not.toHaveProperty("data");
  expect(calls()).toEqual([]);
});

test.each([
  [{ by: { field: "CREATED_AT", metric: "loss" } }, [ONE_KEY]],
  [{ by: { field: null, parameter: "lr" } }, [ONE_KEY, NOT_NULL]],
  [{ by: {} }, [ONE_KEY]],
  [{ by: { field: null } }, [NOT_NULL]],
  [{ by: { field: "LENGTH" } }, [`Value "LENGTH" does not exist`]],
  [{ direction: "ASC" }, [`Field "by" of required type "RunOrderKey!" was not provided`]],
])("the variable %j is refused, and nothing is sent", async (order, messages) => {
  const { refused, calls } = await startSorted(MIXED);
  expect(await refused({ order })).toEqual(
    messages.map((message) => ({
      at: undefined,
      code: "BAD_USER_INPUT",
      message: expect.stringContaining(message),
    })),
  );
  expect(calls()).toEqual([]);
});

test.each(["jobs", "buildJobs", "groups"])("ordering %s by a parameter is refused", async (list) => {
  const { ask, calls } = await startSorted(MIXED);
  const many = list === "buildJobs" ? "build jobs" : list;
  const { errors } = outcomeOf(
    await ask(inProject(`list: ${list}(order: { by: { parameter: "lr" } }) { totalCount }`)),
  );
  expect(errors).toEqual([
    failure(
      "project.list",
      "BAD_USER_INPUT",
      `order.by.parameter: expected only for lists of experiments, got a list with ${many}`,
    ),
  ]);
  expect(calls()).toEqual([]);
});
