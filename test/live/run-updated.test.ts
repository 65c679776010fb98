import { expect, test } from "vitest";
import { latch } from "../support/latch.ts";
import { FIRST_POLL, RUN_UPDATED, startLive, update } from "../support/live-service.ts";
import { NO_DEADLINES, withoutPings } from "../support/long-timeout.ts";

const READ = "GET ada/mnist/experiments/1/";

test("twenty subscribers by id or name share polls and get every change", async () => {
  const run = { id: 1, last_status: "running" };
  const { watch, subscribe, advance, reach, requests, timers } = await startLive([run]);
  const byName = { query: RUN_UPDATED, variables: { id: "ada.mnist.experiments.1" } };
  const watchers = await Promise.all([subscribe(byName), ...Array.from({ length: 19 }, () => watch(1))]);
  const next = () => Promise.all(watchers.map((watcher) => watcher.next()));
  advance(FIRST_POLL);
  expect(await next()).toEqual(watchers.map(() => update(1, "RUNNING")));
  run.last_status = "succeeded";
  await reach(1_000);
  expect(await next()).toEqual(watchers.map(() => update(1, "SUCCEEDED", "RUNNING", true)));
  expect(await next()).toEqual(watchers.map(() => null));
  expect(await requests(2)).toEqual([READ, READ]);
  expect(timers()).not.toContain(2_000);
});

test("an ambiguous name is resolved once, and refused if both runs exist", async () => {
  const run = { id: 1, last_status: "running" };
  const groups: number[] = [];
  const { subscribe, advance, requests } = await startLive([run], {
    answer: ({ path }) =>
      groups.some((id) => path.endsWith(`/groups/${id}/`)) ? { json: { id: 2 } } : undefined,
  });
  const byName = { query: RUN_UPDATED, variables: { id: "ada.mnist.1" } };
  const watcher = await subscribe(byName);
  const group = "GET ada/mnist/groups/1/";
  expect((await requests(2)).toSorted()).toEqual([READ, group]);
  advance(FIRST_POLL);
  expect(await watcher.next()).toEqual(update(1, "RUNNING"));
  expect((await requests(3)).slice(2)).toEqual([READ]);
  groups.push(1);
  const refused = await subscribe(byName);
  const message =
    'id: expected ada.mnist.experiments.1 or ada.mnist.groups.1, got "ada.mnist.1", the name of both';
  expect(await refused.next()).toMatchObject({
    errors: [{ message, path: ["runUpdated"], extensions: { code: "BAD_USER_INPUT" } }],
  });
});

test("a name that is not resolved in time ends the subscription", async () => {
  const { subscribe, requests } = await startLive([], {
    env: { ...NO_DEADLINES, REQUEST_TIMEOUT_MS: "100" },
    answer: () => () => {},
  });
  const watcher = await subscribe({ query: RUN_UPDATED, variables: { id: "ada.mnist.1" } });
  expect(await watcher.next()).toMatchObject({
    errors: [{ path: ["runUpdated"], extensions: { code: "UPSTREAM_TIMEOUT" } }],
  });
  expect((await requests(2)).toSorted()).toEqual([READ, "GET ada/mnist/groups/1/"]);
});

test("a run without remaining subscribers is not polled", async () => {
  withoutPings();
  const { watch, advance, reach, requests, subscriptions, inOrder } = await startLive([
    { id: 1, last_status: "running" },
    { id: 2, last_status: "running" },
  ]);
  const [one, other] = await Promise.all([watch(1), watch(2)]);
  advance(FIRST_POLL);
  await Promise.all([one.next(), other.next()]);
  const both = await requests(2);
  one.leave();
  await subscriptions(1);
  await reach(1_000);
  expect((await requests(3)).slice(both.length)).toEqual(["GET ada/mnist/experiments/2/"]);
  expect(inOrder()).toHaveLength(3);
});

test("a subscriber that leaves during an event cancels the event's reads", async () => {
  const gone = latch();
  const { subscribe, advance, requests } = await startLive([], {
    env: NO_DEADLINES,
    answer: ({ path }) =>
      path.includes("/builds/")
        ? (response) => response.on("close", gone.open)
        : { json: { id: 1, last_status: "running", build_job: "ada.mnist.builds.7" } },
  });
  const run = "run { ... on Experiment { buildJob { status } } }";
  const watcher = await subscribe({
    query: `subscription { runUpdated(id: "ada.mnist.experiments.1") { ${run} } }`,
  });
  advance(FIRST_POLL);
  expect(await requests(2)).toEqual([READ, "GET ada/mnist/builds/7/"]);
  watcher.leave();
  await gone.opened;
});

test("reads for an event are charged only until the event is sent", async () => {
  const run = { id: 1, last_status: "running" };
  const { subscribe, advance, reach } = await startLive([run], {
    env: { ...NO_DEADLINES, MAX_UPSTREAM_BYTES: "100000" },
    answer: ({ path }) => (path.endsWith("/logs/") ? { text: "x".repeat(40_000) } : undefined),
  });
  const query = `subscription { runUpdated(id: "ada.mnist.experiments.1") { run { ... on Experiment { logs { endCursor } } } } }`;
  const watcher = await subscribe({ query });
  advance(FIRST_POLL);
  for (const [index, status] of ["starting", "warning", "stopping"].entries()) {
    expect((await watcher.next())?.errors).toBe(undefined);
    run.last_status = status;
    await reach((index + 1) * 1_000);
  }
  expect((await watcher.next())?.errors).toBe(undefined);
});

test("a later subscriber receives the current state immediately, without a request", async () => {
  const { watch, advance, requests } = await startLive([{ id: 1, last_status: "running" }]);
  const first = await watch(1);
  advance(FIRST_POLL);
  await first.next();
  const second = await watch(1);
  expect(await second.next()).toEqual(update(1, "RUNNING"));
  expect(await requests(1)).toEqual([READ]);
});

test("poll intervals double up to five seconds and reset after a change", async () => {
  const run = { id: 1, last_status: "running" };
  const { watch, advance, reach, requests } = await startLive([run]);
  const watcher = await watch(1);
  advance(FIRST_POLL);
  await watcher.next();
  await reach(1_000, 2_000, 4_000, 5_000, 10_000, 15_000);
  await requests(7);
  run.last_status = "stopping";
  await reach(20_000);
  expect(await watcher.next()).toEqual(update(1, "STOPPING", "RUNNING"));
  await reach(21_000);
  expect(await requests(9)).toHaveLength(9);
});

test("changes of unknown keys are not reported", async () => {
  let reads = 0;
  const { watch, advance, reach, requests } = await startLive([], {
    answer: () => ({
      json: {
        id: 1,
        unique_name: "ada.mnist.1",
        started_at: null,
        finished_at: null,
        last_status: reads < 2 ? "running" : "succeeded",
        total_run: ++reads,
      },
    }),
  });
  const watcher = await watch(1);
  advance(FIRST_POLL);
  expect(await watcher.next()).toEqual(update(1, "RUNNING"));
  await reach(1_000, 2_000);
  expect(await watcher.next()).toEqual(update(1, "SUCCEEDED", "RUNNING", true));
  expect(await requests(3)).toHaveLength(3);
});
