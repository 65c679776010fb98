import { expect, onTestFinished, test, vi } from "vitest";
import { readList } from "../../src/graphql/subscriptions/watched-list.ts";
import { createStatePoll } from "../../src/live/state-poll.ts";
import { runs as kinds } from "../../src/rest/api/kinds.ts";
import type { Seen, FakeResponse } from "../support/fake.ts";
import { globalId } from "../support/ids.ts";
import { FIRST_POLL, type LiveRun, startLive, rowOf } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";

/* A list of runs that is watched reports each run that leaves it, with its state and the reason. */

const RELEASE_04 = { UPSTREAM_PROFILE: "polyaxon-0.4" };
const LIST = /^\/api\/v1\/ada\/mnist\/experiments\?/;

const experiments = (count: number): LiveRun[] =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    last_status: "running",
    // The last run has the latest change.
    updated_at: `2026-02-01T10:00:${index + 10}Z`,
  }));

/** Lists runs by status or ids, with the newest change first, as release 0.4.4 does. */
const listed =
  (runs: readonly LiveRun[]) =>
  ({ path }: Seen): FakeResponse | undefined => {
    if (!LIST.test(path)) return undefined;
    const params = new URL(path, "http://service").searchParams;
    const query = params.get("query") ?? "";
    const [, key = "", values = ""] = /^(\w+):(.*)$/.exec(query) ?? [];
    const valueOf = ({ id, last_status: status }: LiveRun) => (key === "id" ? `${id}` : status);
    const found = runs
      .filter((run) => query === "" || values.split("|").includes(valueOf(run)))
      .toSorted((one, other) => (other.updated_at ?? "").localeCompare(one.updated_at ?? ""))
      .map(rowOf);
    const results = found.slice(0, Number(params.get("limit") ?? 20));
    return { json: { count: found.length, next: null, results } };
  };

const RUNNING = { filter: { statuses: ["RUNNING"] } };

/** Watches the runs of a project. `move` advances the clock by a second, after which the list is read again. */
async function watchRuns(
  runs: LiveRun[],
  variables: object,
  env: Record<string, string> = RELEASE_04,
  answer: ReturnType<typeof listed> = listed(runs),
) {
  const live = await startLive(runs, { env, answer });
  const watcher = await live.subscribe({
    query: `subscription ($of: ID!, $filter: RunFilter, $query: String, $first: Int) {
      runsUpdated(of: $of, filter: $filter, query: $query, first: $first) {
        reason previousStatus run { uniqueName status isFinished }
      }
    }`,
    variables: { of: globalId("Project:ada/mnist"), ...variables },
  });
  live.advance(FIRST_POLL);
  return { ...live, next: async () => (await watcher.next())?.data?.["runsUpdated"] };
}

const reported = (
  reason: string,
  id: number,
  status: string,
  previousStatus: string | null,
  isFinished = false,
) => ({
  reason,
  previousStatus,
  run: { uniqueName: `ada.mnist.${id}`, status, isFinished },
});

const queryOf = (text: string) => `query=${encodeURIComponent(text)}`;
const LIST_RUNNING = `GET ada/mnist/experiments?${queryOf("status:running")}`;

test("a run takes no memory once every subscriber knows that it has left", async () => {
  const description = "x".repeat(50_000);
  const runs = experiments(1).map((run) => ({ ...run, description }));
  const limits = { MAX_UPSTREAM_BYTES: "250000" };
  const { next, advance, settle, ask } = await watchRuns(runs, RUNNING, { ...RELEASE_04, ...limits });
  expect(await next()).toMatchObject({ reason: "APPEARED" });
  for (const run of runs) run.last_status = "succeeded";
  const left = next();
  advance(1_000);
  expect(await left).toMatchObject({ reason: "LEFT" });
  next().catch(() => {});
  for (let seconds = 0; seconds < 6; seconds++) {
    await settle();
    advance(1_000);
  }
  await settle();
  // This record and the one of the event exceed the limit together.
  for (const run of runs) run.description = "x".repeat(170_000);
  const { errors = [] } = await ask(`{ experiment(id: "ada.mnist.1") { description } }`);
  expect(errors).toEqual([]);
});

test("a filter that needs a scan takes one request per poll", async () => {
  const runs = experiments(3).map((run) => ({
    ...run,
    name: "base",
    declarations: { lr: 0.1 },
    tags: ["a,b"],
  }));
  Object.assign(runs[1] ?? {}, { declarations: { lr: 0.2 } });
  const filter = { words: "BASE", tags: ["a,b"], parameters: [{ name: "lr", atMost: 0.1 }] };
  const { next, reach, requests } = await watchRuns(runs, { filter });
  for (const id of [3, 1]) expect(await next()).toEqual(reported("APPEARED", id, "RUNNING", null));
  Object.assign(runs[1] ?? {}, { declarations: { lr: 0.05 }, updated_at: "2026-02-01T10:01:00Z" });
  await reach(1_000);
  expect(await next()).toEqual(reported("APPEARED", 2, "RUNNING", null));
  Object.assign(runs[2] ?? {}, { name: "c", updated_at: "2026-02-01T10:02:00Z" });
  await reach(2_000);
  expect(await next()).toEqual(reported("LEFT", 3, "RUNNING", "RUNNING"));
  const list = "GET ada/mnist/experiments?limit=500";
  expect(await requests(4)).toEqual([list, list, list, "GET ada/mnist/experiments/3/"]);
});

test("a scan can yield to the event loop after each row", async () => {
  const runs = experiments(3).map((run) => ({ ...run, description: `needle ${run.id}` }));
  let [tick, isOver] = [0, false];
  const countTicks = () => {
    tick++;
    if (!isOver) setImmediate(countTicks);
  };
  countTicks();
  const normalize = vi.spyOn(String.prototype, "normalize").mockImplementation(function (this: string) {
    if (this.startsWith("needle ")) ticks.add(tick);
    return `${this}`;
  });
  onTestFinished(() => {
    isOver = true;
    normalize.mockRestore();
  });
  const ticks = new Set<number>();
  stopwatchRuns();
  const { next } = await watchRuns(runs, { filter: { words: "needle" } });
  for (const id of [3, 2, 1]) expect(await next()).toEqual(reported("APPEARED", id, "RUNNING", null));
  expect(ticks.size).toBe(3);
});

test("scans of one list with different conditions share one request per poll", async () => {
  const runs = experiments(3).map((run) => ({ ...run, name: run.id === 2 ? "base" : "other" }));
  const live = await startLive(runs, { env: RELEASE_04, answer: listed(runs) });
  const query = `subscription ($of: ID!, $words: String) {
    runsUpdated(of: $of, filter: { words: $words }) { run { uniqueName } }
  }`;
  const of = globalId("Project:ada/mnist");
  const watchers = await Promise.all(
    ["base", "oth"].map((words) => live.subscribe({ query, variables: { of, words } })),
  );
  live.advance(FIRST_POLL);
  for (const [index, id] of [2, 3].entries())
    expect(await watchers[index]?.next()).toEqual({
      data: { runsUpdated: { run: { uniqueName: `ada.mnist.${id}` } } },
    });
  await live.settle();
  await live.reach(1_000);
  await live.settle();
  const list = "GET ada/mnist/experiments?limit=500";
  expect(live.inOrder()).toEqual([list, list]);
});

test("with a status filter, one request reads all runs that ended", async () => {
  const runs = experiments(3);
  const { next, reach, requests } = await watchRuns(runs, RUNNING);
  for (const id of [3, 2, 1]) expect(await next()).toEqual(reported("APPEARED", id, "RUNNING", null));
  Object.assign(runs[0] ?? {}, { last_status: "succeeded", updated_at: "2026-02-01T10:01:00Z" });
  Object.assign(runs[1] ?? {}, { last_status: "failed", updated_at: "2026-02-01T10:01:01Z" });
  await reach(1_000);
  expect(await next()).toEqual(reported("LEFT", 2, "FAILED", "RUNNING", true));
  expect(await next()).toEqual(reported("LEFT", 1, "SUCCEEDED", "RUNNING", true));
  expect(await requests(3)).toEqual([
    LIST_RUNNING,
    LIST_RUNNING,
    `GET ada/mnist/experiments?${queryOf("id:2|1")}&limit=100`,
  ]);
});

test("a deleted run is reported in its last state, even without filters", async () => {
  for (const [variables, list] of [
    [RUNNING, LIST_RUNNING],
    [{}, "GET ada/mnist/experiments"],
  ] as const) {
    const runs = experiments(2);
    const { next, reach, requests } = await watchRuns(runs, variables);
    for (const id of [2, 1]) expect(await next()).toEqual(reported("APPEARED", id, "RUNNING", null));
    runs.shift();
    await reach(1_000);
    expect(await next()).toEqual(reported("GONE", 1, "RUNNING", "RUNNING"));
    expect(await requests(3)).toEqual([list, list, "GET ada/mnist/experiments/1/"]);
  }
});

test("without filters by id, reads each run separately, within the rate limit", async () => {
  const runs = experiments(15);
  const { next, reach, requests, timers } = await watchRuns(runs, RUNNING, {
    UPSTREAM_PROFILE: "polyaxon-0.2",
    LIVE_REQUESTS_PER_MINUTE: "30",
  });
  for (const run of runs.toReversed())
    expect(await next()).toEqual(reported("APPEARED", run.id, "RUNNING", null));
  for (const run of runs) Object.assign(run, { last_status: "done", updated_at: "2026-02-01T11:00:00Z" });
  await reach(1_000);
  const events: unknown[] = [];
  // A sixth of the minute's requests are sent at once: two lists and three runs. Then they are sent one at a time, and no list before the
  // runs are read.
  for (let sent = 6; sent <= 17; sent++) {
    // Later timers belong to comments of event streams.
    await reach(await vi.waitUntil(() => timers().find((at) => at < 10_000 * sent), LONG_TIMEOUT));
    await requests(sent);
  }
  while (events.length < runs.length) events.push(await next());
  const texts = (all: readonly unknown[]) => all.map((each) => JSON.stringify(each)).toSorted();
  expect(texts(events)).toEqual(texts(runs.map(({ id }) => reported("LEFT", id, "DONE", "RUNNING", true))));
  const [first, second, ...reads] = await requests(17);
  expect([first, second]).toEqual([LIST_RUNNING, LIST_RUNNING]);
  expect(reads.toSorted()).toEqual(runs.map(({ id }) => `GET ada/mnist/experiments/${id}/`).toSorted());
});

test("matching runs that leave a filtered page are reported as DISPLACED", async () => {
  // The last run is always beyond the page.
  const runs = [...experiments(3), { id: 4, last_status: "running", updated_at: "2026-01-01T00:00:00Z" }];
  const { next, reach, requests } = await watchRuns(runs, { ...RUNNING, first: 2 });
  const list = `${LIST_RUNNING}&limit=2`;
  for (const id of [3, 2]) expect(await next()).toEqual(reported("APPEARED", id, "RUNNING", null));
  Object.assign(runs[0] ?? {}, { updated_at: "2026-02-01T10:01:00Z" });
  await reach(1_000);
  expect(await next()).toEqual(reported("APPEARED", 1, "RUNNING", null));
  expect(await next()).toEqual(reported("DISPLACED", 2, "RUNNING", "RUNNING"));
  Object.assign(runs[1] ?? {}, { updated_at: "2026-02-01T10:02:00Z" });
  Object.assign(runs[2] ?? {}, { last_status: "failed", updated_at: "2026-02-01T10:03:00Z" });
  await reach(2_000);
  expect(await next()).toEqual(reported("APPEARED", 2, "RUNNING", "RUNNING"));
  expect(await next()).toEqual(reported("LEFT", 3, "FAILED", "RUNNING", true));
  expect(await requests(5)).toEqual([
    list,
    list,
    "GET ada/mnist/experiments/2/",
    list,
    "GET ada/mnist/experiments/3/",
  ]);
});

test("without a filter, a run that leaves the page is not reported", async () => {
  const runs = experiments(3);
  const { next, reach, requests } = await watchRuns(runs, { first: 2 });
  const list = "GET ada/mnist/experiments?limit=2";
  for (const id of [3, 2]) expect(await next()).toEqual(reported("APPEARED", id, "RUNNING", null));
  Object.assign(runs[0] ?? {}, { last_status: "failed", updated_at: "2026-02-01T10:01:00Z" });
  await reach(1_000);
  expect(await next()).toEqual(reported("APPEARED", 1, "FAILED", null, true));
  Object.assign(runs[1] ?? {}, { last_status: "failed", updated_at: "2026-02-01T10:02:00Z" });
  await reach(2_000);
  expect(await next()).toEqual(reported("APPEARED", 2, "FAILED", "RUNNING", true));
  expect(await requests(3)).toEqual([list, list, list]);
});

test("an unreadable run is reported later, without delaying other runs", async () => {
  const runs = experiments(2);
  let isBroken = true;
  const lists = listed(runs);
  const { next, reach, requests } = await watchRuns(runs, { query: "status:running" }, RELEASE_04, (seen) =>
    isBroken && seen.path.endsWith("/1/") ? { status: 507, json: { detail: "no" } } : lists(seen),
  );
  for (const id of [2, 1]) expect(await next()).toEqual(reported("APPEARED", id, "RUNNING", null));
  Object.assign(runs[0] ?? {}, { last_status: "failed", updated_at: "2026-02-01T10:01:00Z" });
  runs.push({ id: 3, last_status: "running", updated_at: "2026-02-01T10:01:01Z" });
  await reach(1_000);
  expect(await next()).toEqual(reported("APPEARED", 3, "RUNNING", null));
  isBroken = false;
  await reach(2_000);
  expect(await next()).toEqual(reported("LEFT", 1, "FAILED", "RUNNING", true));
  const single = "GET ada/mnist/experiments/1/";
  expect(await requests(5)).toEqual([LIST_RUNNING, LIST_RUNNING, single, LIST_RUNNING, single]);
});

test("a rejected token ends the stream without reporting the run as GONE", async () => {
  const runs = experiments(1);
  const { next, reach } = await watchRuns(runs, RUNNING, RELEASE_04, (seen) =>
    seen.path.endsWith("/1/") ? { status: 401, json: { detail: "Token expired" } } : listed(runs)(seen),
  );
  await next();
  Object.assign(runs[0] ?? {}, { last_status: "failed" });
  await reach(1_000);
  expect(await next()).toBeUndefined();
});

test("keeps up to 500 departed runs until all subscribers have seen them", async () => {
  let polls = 0;
  const watched = {
    isFiltered: true,
    isNewestFirst: true,
    readPage: async () => ({
      items: experiments(300).map((run) => ({ ...run, id: run.id + 300 * polls })),
      hasNext: false,
    }),
    readRun: async (id: string) => ({ id: Number(id) }),
  };
  let state = await readList(watched, null, false);
  for (polls = 1; polls < 4; polls++) state = await readList(watched, state, false);
  expect(state.left.size).toBe(500);
  // The runs that left first are no longer known.
  expect(Math.min(...[...state.left.keys()].map(Number))).toBe(401);
  expect((await readList(watched, state, true)).left.size).toBe(300);
});

// Not over HTTP: system buffers hold more than the events of a test.
test("events count as seen when the slowest subscriber has received them", async () => {
  const asked: boolean[] = [];
  const poll = createStatePoll<{ readonly count: number }>(
    {
      key: "runs",
      endpoint: kinds.experiment.endpoints.read,
      read: async (_, before, isSeen) => {
        asked.push(isSeen);
        return { count: (before?.count ?? 0) + 1 };
      },
      isFinal: () => false,
      bytesOf: () => 0,
    },
    () => {},
  );
  const subscribe = () => {
    let taken = 0;
    return poll.subscribe(
      ({ count }) => (count === taken ? null : (taken = count)),
      () => {},
    );
  };
  const [slow, quick] = [subscribe(), subscribe()];
  // Safe: the source reads without it.
  const session = { endSharing: () => {} } as Parameters<typeof poll.read>[0];
  const read = () => poll.read(session, () => 0);
  void quick.next();
  await read();
  void quick.next();
  await read();
  expect((await slow.next()).value?.value).toBe(2);
  void slow.next();
  void quick.next();
  await read();
  expect(asked).toEqual([true, false, true]);
});
