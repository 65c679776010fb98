import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../src/util/clock.ts";
import type { Reply, FakeResponse } from "../support/fake.ts";
import { reaches } from "../support/metrics.ts";
import { latch } from "../support/latch.ts";
import { experimentId, FIRST_POLL, rowOf, startLive, update } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";

/** Starts a service with one run that sends the response `reported` until the test sets it to null. */
async function startFaulty(env: Record<string, string> = {}) {
  const run = { id: 1, last_status: "running" };
  const fault: { reported: Reply | null } = { reported: null };
  const live = await startLive([run], { answer: () => fault.reported ?? undefined, env });
  return { ...live, run, fault };
}

const error = (code: string) =>
  expect.objectContaining({ path: ["runUpdated"], extensions: expect.objectContaining({ code }) });

/** `Retry-After` is an hour, but the gateway polls again earlier. */
const AWAY: FakeResponse = {
  json: { detail: "restarting" },
  status: 503,
  headers: { "retry-after": "3600" },
};

test("a stream survives an outage under a minute without an error event", async () => {
  const { run, fault, watch, advance, reach, requests } = await startFaulty();
  const watcher = await watch(1);
  advance(FIRST_POLL);
  expect(await watcher.next()).toEqual(update(1, "RUNNING"));
  fault.reported = AWAY;
  await reach(1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 45_000);
  await requests(8);
  fault.reported = null;
  run.last_status = "stopping";
  await reach(60_000);
  expect(await watcher.next()).toEqual(update(1, "STOPPING", "RUNNING"));
  // A further outage starts a new minute.
  fault.reported = AWAY;
  await reach(61_000);
  await requests(10);
  fault.reported = null;
  run.last_status = "succeeded";
  await reach(62_000);
  expect(await watcher.next()).toEqual(update(1, "SUCCEEDED", "STOPPING", true));
  expect(await watcher.next()).toBe(null);
});

test("a momentary gateway overload does not end streams", async () => {
  const { run, fault, watch, reach, advance, ...gateway } = await startFaulty({
    UPSTREAM_CONNECTIONS: "1",
    UPSTREAM_QUEUE: "1",
  });
  const watcher = await watch(1);
  advance(FIRST_POLL);
  await watcher.next();
  const opened = latch();
  fault.reported = (response) => opened.opened.then(() => response.end());
  const others = [2, 3].map((id) => gateway.ask(`{ job(id: "ada.mnist.jobs.${id}") { status } }`));
  await reaches(gateway, "rungraph_upstream_requests_waiting", 1);
  await reach(1_000, 2_000);
  fault.reported = null;
  opened.open();
  await Promise.all(others);
  run.last_status = "stopping";
  await reach(4_000);
  expect(await watcher.next()).toEqual(update(1, "STOPPING", "RUNNING"));
});

test("reports an outage longer than a minute once, and continues the stream", async () => {
  const { run, fault, watch, advance, reach, requests } = await startFaulty();
  const watcher = await watch(1);
  advance(FIRST_POLL);
  await watcher.next();
  fault.reported = AWAY;
  await reach(1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 45_000, 60_000, 61_000);
  expect(await watcher.next()).toEqual({ data: null, errors: [error("UPSTREAM_UNAVAILABLE")] });
  await reach(75_000, 90_000);
  await requests(11);
  fault.reported = null;
  run.last_status = "stopping";
  await reach(105_000);
  expect(await watcher.next()).toEqual(update(1, "STOPPING", "RUNNING"));
  // A further outage starts a new minute.
  fault.reported = AWAY;
  await reach(106_000, 108_000, 112_000, 120_000, 135_000, 150_000, 165_000, 166_000);
  expect(await watcher.next()).toEqual({ data: null, errors: [error("UPSTREAM_UNAVAILABLE")] });
});

test("a late event reports its delay in `extensions`", async () => {
  const { run, fault, watch, advance, reach } = await startFaulty();
  const answerAfter = (ms: number) => (response: ServerResponse) =>
    response.end(JSON.stringify(rowOf(run)), void advance(ms));
  const watcher = await watch(1);
  advance(FIRST_POLL);
  await watcher.next();
  run.last_status = "stopping";
  fault.reported = answerAfter(5_000);
  await reach(1_000);
  const extensions = { live: { lateBySeconds: 5 } };
  expect(await watcher.next()).toEqual({ ...update(1, "STOPPING", "RUNNING"), extensions });
  run.last_status = "warning";
  fault.reported = answerAfter(4_999);
  await reach(7_000);
  expect(await watcher.next()).toEqual(update(1, "WARNING", "STOPPING"));
  run.last_status = "running";
  fault.reported = answerAfter(5_999);
  await reach(13_000);
  expect(await watcher.next()).toEqual({ ...update(1, "RUNNING", "WARNING"), extensions });
});

test.each([
  [404, "NOT_FOUND"],
  [403, "FORBIDDEN"],
  [401, "UNAUTHENTICATED"],
] as const)("status %i from the service ends the stream with %s", async (status, code) => {
  const { fault, watch, advance, reach, requests } = await startFaulty();
  const watcher = await watch(1);
  advance(FIRST_POLL);
  await watcher.next();
  fault.reported = { json: { detail: "No." }, status };
  await reach(1_000);
  expect(await watcher.next()).toEqual({ data: null, errors: [error(code)] });
  expect(await watcher.next()).toBe(null);
  expect(await requests(2)).toHaveLength(2);
});

test("a subscriber gets nothing that was read before its token was rejected", async () => {
  const { run, fault, watch, advance, reach, ask } = await startFaulty();
  const first = await watch(1);
  advance(FIRST_POLL);
  await first.next();
  fault.reported = { json: { detail: "Invalid token." }, status: 401 };
  await ask("{ viewer { username } }");
  fault.reported = null;
  run.last_status = "stopping";
  const second = await watch(1);
  await reach(2 * FIRST_POLL);
  expect(await second.next()).toEqual(update(1, "STOPPING"));
});

test("a new subscriber gets a new poll while others have unread errors", async () => {
  // More than the system buffers of a connection hold.
  const run = { id: 1, last_status: "running", description: "x".repeat(9_000_000) };
  let isGone = false;
  const { subscribe, watch, advance, reach, requests } = await startLive([run], {
    env: { READ_TIMEOUT_MS: "600000" },
    answer: () => (isGone ? { json: { detail: "Not found." }, status: 404 } : undefined),
  });
  // A client that does not read.
  await subscribe({
    query: `subscription ($id: ID!) { runUpdated(id: $id) { run { status description } } }`,
    variables: { id: experimentId(1) },
  });
  advance(FIRST_POLL);
  await requests(1);
  run.last_status = "stopping";
  await reach(1_000);
  await requests(2);
  isGone = true;
  await reach(2_000);
  await requests(3);
  const second = await watch(1);
  await reach(2_000 + FIRST_POLL);
  expect(await second.next()).toMatchObject({ errors: [error("NOT_FOUND")] });
});

test("a resumed run is polled again while other subscribers have unread events", async () => {
  // More than the system buffers of a connection hold.
  const run = { id: 1, last_status: "running", description: "x".repeat(9_000_000) };
  const { subscribe, watch, advance, reach, requests, timers, ...gateway } = await startLive([run], {
    env: { READ_TIMEOUT_MS: "600000" },
  });
  // The client reads nothing.
  const unread = await subscribe({
    query: `subscription ($id: ID!) { runUpdated(id: $id) { run { status description } } }`,
    variables: { id: experimentId(1) },
  });
  advance(FIRST_POLL);
  await requests(1);
  run.last_status = "succeeded";
  await reach(1_000);
  await requests(2);
  await reaches(gateway, "rungraph_upstream_requests_running", 0);
  await gateway.settle();
  run.last_status = "resuming";
  const second = await watch(1);
  await reach(1_000 + FIRST_POLL);
  expect(await second.next()).toEqual(update(1, "RESUMING"));
  run.last_status = "running";
  await reach(2_000);
  expect(await second.next()).toEqual(update(1, "RUNNING", "RESUMING"));
  // The end of the old poll does not end the new one, which later subscribers share.
  unread.leave();
  await gateway.subscriptions(1);
  const third = await watch(1);
  await gateway.subscriptions(2);
  expect(timers()).not.toContain(2_000 + FIRST_POLL);
  expect(await third.next()).toEqual(update(1, "RUNNING"));
  expect(await requests(4)).toHaveLength(4);
});

test("Retry-After pauses all polls of the refused token, and no other polls", async () => {
  const runs = [1, 2, 3].map((id) => ({ id, last_status: "running" }));
  let isThrottled = false;
  const { watch, advance, reach, seen, settle, requests, timers } = await startLive(runs, {
    answer: ({ path, headers }) =>
      isThrottled && path.includes("/1/") && headers["authorization"] === "token ada"
        ? { json: { detail: "Request was throttled." }, status: 429, headers: { "retry-after": "9" } }
        : undefined,
  });
  const watchers = await Promise.all([watch(1, "ada"), watch(2, "ada"), watch(3, "bo")]);
  advance(FIRST_POLL);
  await Promise.all(watchers.map((watcher) => watcher.next()));
  isThrottled = true;
  await reach(1_000);
  await requests(6);
  isThrottled = false;
  // The next poll of ada follows the pause. The polls of bo continue.
  await vi.waitUntil(() => timers().includes(10_000), LONG_TIMEOUT);
  await reach(2_000, 4_000, 5_000);
  await requests(9);
  const since = (token: string) =>
    seen()
      .slice(6)
      .filter(({ headers }) => headers["authorization"] === `token ${token}`).length;
  expect([since("ada"), since("bo")]).toEqual([0, 3]);
  // The clock advances once the poll of bo has its next timer.
  await settle();
  await reach(10_000);
  await requests(12);
  expect(since("ada")).toBe(2);
});

test("reports throttling after a minute, and polls again after five minutes", async () => {
  const runs = [1, 2].map((id) => ({ id, last_status: "running" }));
  let refusal: FakeResponse | null = null;
  const { watch, advance, reach, requests } = await startLive(runs, {
    answer: ({ path }) => (path.includes("/1/") ? (refusal ?? undefined) : undefined),
  });
  const watchers = await Promise.all([watch(1), watch(2)]);
  advance(FIRST_POLL);
  for (const watcher of watchers) await watcher.next();
  refusal = { json: { detail: "Throttled." }, status: 429, headers: { "retry-after": `${30 * 86_400}` } };
  await reach(1_000);
  await requests(4);
  await reach(61_000);
  for (const watcher of watchers) {
    expect(await watcher.next()).toEqual({
      data: null,
      errors: [
        expect.objectContaining({
          extensions: expect.objectContaining({ code: "RATE_LIMITED", retryAfterSeconds: 240 }),
        }),
      ],
    });
  }
  refusal = null;
  runs.forEach((run) => (run.last_status = "stopping"));
  await reach(301_000);
  for (const [index, watcher] of watchers.entries())
    expect(await watcher.next()).toMatchObject({
      ...update(index + 1, "STOPPING", "RUNNING"),
      extensions: { live: { lateBySeconds: 300 - index } },
    });
  expect(await requests(6)).toHaveLength(6);
});

// This test calls the code directly, without HTTP, because the fake clock does not use system timers.
test("a pause longer than the maximum timer delay is not shortened", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const cancel = systemClock.after(30 * 86_400_000, () => {});
  await new Promise(setImmediate);
  cancel();
  expect(warnings).toEqual([]);
});
