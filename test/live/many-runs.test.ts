import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { yieldToEventLoop } from "../../src/util/event-loop.ts";
import { SlidingWindow } from "../../src/util/sliding-window.ts";
import { globalId } from "../support/ids.ts";
import { experimentId, FIRST_POLL, startLive, update } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";

const experiments = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, last_status: "running" }));

const RELEASE_04 = { env: { UPSTREAM_PROFILE: "polyaxon-0.4" } };

test("with filters by id, polls of 24 runs share one request", async () => {
  const runs = experiments(24);
  const { watch, advance, reach, requests } = await startLive(runs, RELEASE_04);
  const watchers = await Promise.all(runs.map(({ id }) => watch(id)));
  advance(FIRST_POLL);
  const first = await Promise.all(watchers.map((watcher) => watcher.next()));
  expect(first).toEqual(runs.map(({ id }) => update(id, "RUNNING")));
  for (const run of runs) run.last_status = "stopping";
  await reach(1_000);
  const second = await Promise.all(watchers.map((watcher) => watcher.next()));
  expect(second).toEqual(runs.map(({ id }) => update(id, "STOPPING", "RUNNING")));
  const calls = await requests(2);
  const idsIn = (call: string) =>
    new URL(call.replace("GET ", "http://service/")).searchParams.get("query")?.replace("id:", "").split("|");
  expect(
    calls.map((call) =>
      idsIn(call)
        ?.map(Number)
        .toSorted((one, other) => one - other),
    ),
  ).toEqual([runs.map(({ id }) => id), runs.map(({ id }) => id)]);
});

test("polls of 200 runs that end together delay no other task", async () => {
  const runs = experiments(200);
  const { watch, advance } = await startLive(runs, RELEASE_04);
  const watchers = await Promise.all(runs.map(({ id }) => watch(id)));
  const waits: number[] = [];
  const watched = { isOver: false };
  const measured = (async () => {
    for (const wait = { isOver: false }; !watched.isOver; wait.isOver = false) {
      void yieldToEventLoop().then(() => (wait.isOver = true));
      let ticks = 0;
      for (; !wait.isOver; ticks++) await new Promise((resolve) => void setImmediate(resolve));
      waits.push(ticks);
    }
  })();
  advance(FIRST_POLL);
  await Promise.all(watchers.map((watcher) => watcher.next()));
  watched.isOver = true;
  await measured;
  expect(Math.max(...waits)).toBeLessThan(20);
});

test("watching a group takes one request per poll", async () => {
  const runs = experiments(3);
  const { subscribe, advance, reach, requests } = await startLive(runs, RELEASE_04);
  const watcher = await subscribe({
    query: `subscription ($of: ID!) {
      runsUpdated(of: $of) { previousStatus run { uniqueName status isFinished } }
    }`,
    variables: { of: globalId("Group:ada/mnist/9") },
  });
  const reported = (...given: Parameters<typeof update>) => ({
    data: { runsUpdated: update(...given).data.runUpdated },
  });
  advance(FIRST_POLL);
  for (const { id } of runs) expect(await watcher.next()).toEqual(reported(id, "RUNNING"));
  for (const run of runs) run.last_status = run.id === 2 ? "succeeded" : "running";
  runs.push({ id: 4, last_status: "created" });
  await reach(1_000);
  expect(await watcher.next()).toEqual(reported(2, "SUCCEEDED", "RUNNING", true));
  expect(await watcher.next()).toEqual(reported(4, "CREATED"));
  const list = "GET ada/mnist/experiments?group=9";
  expect(await requests(2)).toEqual([list, list]);
});

test("an invalid filter of watched runs is refused before the first poll", async () => {
  const { subscribe } = await startLive(experiments(1), RELEASE_04);
  const refused = await subscribe({
    query: `subscription ($of: ID!) {
      runsUpdated(of: $of, kind: JOB, filter: { metrics: { name: "loss", lessThan: 0.5 } }) { reason }
    }`,
    variables: { of: globalId("Project:ada/mnist") },
  });
  const message = "filter.metrics: expected only for lists of experiments, got a list with jobs";
  expect(await refused.next()).toMatchObject({
    errors: [{ message, extensions: { code: "BAD_USER_INPUT" } }],
  });
});

test("200 watched runs start with a burst and are then polled alternately", async () => {
  const { watch, advance, reach, requests, timers } = await startLive(experiments(200), {
    env: { LIVE_REQUESTS_PER_MINUTE: "30" },
  });
  await Promise.all(experiments(200).map(({ id }) => watch(id)));
  advance(FIRST_POLL);
  let sent = 5;
  await requests(sent);
  // Later timers belong to comments of event streams.
  const isPoll = (at: number) => at < 10_000;
  for (let round = 0; round < 2; round++) {
    const next = await vi.waitUntil(() => timers().find(isPoll), LONG_TIMEOUT);
    await reach(next);
    await requests(++sent);
  }
  const calls = await requests(sent);
  expect(calls).toHaveLength(7);
  expect(new Set(calls).size).toBe(7);
});

test("reads for events count against the limit of polls", async () => {
  const { subscribe, advance, requests, timers } = await startLive(experiments(1), {
    env: { LIVE_REQUESTS_PER_MINUTE: "2" },
    answer: ({ path }) =>
      /metrics/.test(path) ? { json: { count: 0, next: null, results: [] } } : undefined,
  });
  const watcher = await subscribe({
    query: `subscription ($id: ID!) { runUpdated(id: $id) { run { ... on Experiment { metrics { nodes { id } } } } } }`,
    variables: { id: experimentId(1) },
  });
  advance(FIRST_POLL);
  expect(await watcher.next()).toEqual({ data: { runUpdated: { run: { metrics: { nodes: [] } } } } });
  advance(40_000);
  expect(timers()).toContain(60_020);
  expect(await requests(2)).toHaveLength(2);
});

test("no minute has more poll requests than allowed, for any poll pattern", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.record({ pause: fc.nat(20_000), wanted: fc.nat(100) }), { maxLength: 100 }),
      (perMinute, ticks) => {
        const rate = new SlidingWindow({ requests: perMinute, periodMs: 60_000 }, 1 / 6);
        const spent: number[] = [];
        let now = 0;
        for (const { pause, wanted } of ticks) {
          now = Math.max(now + pause, Math.ceil(rate.nextAt(now + pause)));
          for (let left = wanted; left > 0 && rate.nextAt(now) <= now; left--) {
            rate.record(now);
            spent.push(now);
          }
          expect(spent.filter((at) => at > now - 60_000).length).toBeLessThanOrEqual(perMinute);
          expect(rate.nextAt(now)).toBeLessThanOrEqual(now + 60_000);
        }
      },
    ),
  );
});
