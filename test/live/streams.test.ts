import { expect, test, vi } from "vitest";
import { experimentId, FIRST_POLL, RUN_UPDATED, startLive, update } from "../support/live-service.ts";
import { LONG_TIMEOUT, withoutPings } from "../support/long-timeout.ts";
import { openRaw } from "../http/raw-socket.ts";

const RUNNING = [{ id: 1, last_status: "running" }];

test("event streams start with a comment, and send comments while idle", async () => {
  const { watch, advance } = await startLive(RUNNING);
  const watcher = await watch(1);
  expect(watcher.headers).toMatchObject({
    "content-type": "text/event-stream",
    "cache-control": "private, no-store, no-transform",
    "x-accel-buffering": "no",
  });
  expect(watcher.headers["content-encoding"]).toBeUndefined();
  const comment = { event: ":", data: "" };
  expect(await watcher.frame()).toEqual(comment);
  advance(FIRST_POLL);
  expect(await watcher.next()).toEqual(update(1, "RUNNING"));
  expect([await watcher.frame(), await watcher.frame()]).toEqual([comment, comment]);
});

test("subscriptions are subject to document limits and have one root field", async () => {
  const { subscribe } = await startLive(RUNNING, { env: { MAX_DEPTH: "4", MAX_FIELDS: "3" } });
  const codes = [];
  for (const query of [
    `subscription { runUpdated(id: "x") { run { project { owner { username } } } } }`,
    `subscription { runUpdated(id: "x") { reason previousStatus run { id } } }`,
    `subscription { a: runUpdated(id: "x") { reason } b: runUpdated(id: "y") { reason } }`,
  ]) {
    const reported = await (await subscribe({ query })).next();
    codes.push(reported?.errors?.map(({ extensions }) => extensions["code"]));
  }
  expect(codes).toEqual([["OPERATION_TOO_DEEP"], ["OPERATION_TOO_LARGE"], ["GRAPHQL_VALIDATION_FAILED"]]);
});

test.each([
  `subscription ($id: ID!, $no: Boolean!) { runUpdated(id: $id) @include(if: $no) { reason } }`,
  `subscription ($id: ID!, $no: Boolean!) { ... @include(if: $no) { runUpdated(id: $id) { reason } } }`,
  `subscription ($id: ID!) { ...Root } fragment Root on Subscription { runUpdated(id: $id) @skip(if: true) { reason } }`,
])("the root field of a subscription cannot be skipped: %s", async (query) => {
  const { subscribe, logged } = await startLive(RUNNING);
  const reported = await (await subscribe({ query, variables: { id: experimentId(1), no: false } })).next();
  expect(reported?.errors).toMatchObject([
    {
      message: "Expected no @skip or @include at the root of a subscription.",
      extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
    },
  ]);
  expect(logged()).not.toContain("unexpected error");
});

test("a draining gateway ends event streams without a `complete` event", async () => {
  withoutPings();
  const { watch, advance, drain, subscriptions } = await startLive(RUNNING);
  const watchers = await Promise.all(Array.from({ length: 10 }, () => watch(1)));
  advance(FIRST_POLL);
  for (const watcher of watchers) await watcher.next();
  drain();
  for (const watcher of watchers) expect(await watcher.frame()).toBe(null);
  await subscriptions(0);
});

test("a draining gateway ends a stream whose document arrives late", async () => {
  withoutPings();
  const { url, drain, subscriptions } = await startLive(RUNNING);
  const body = JSON.stringify({ query: RUN_UPDATED, variables: { id: experimentId(1) } });
  const late = await openRaw(url);
  const head =
    "Host: g\r\nAuthorization: token t\r\nAccept: text/event-stream\r\nContent-Type: application/json";
  await late.write(`POST /graphql HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n`);
  await subscriptions(1);
  drain();
  await late.write(body);
  await late.closed;
  expect(late.read()).toMatch(/^HTTP\/1\.1 200 [^]*text\/event-stream/);
  expect(late.read()).not.toContain("complete");
});

test("a draining gateway waits one second for slow readers of event streams", async () => {
  // More than the system buffers of a connection hold.
  const run = { id: 1, last_status: "running", updated_at: "", description: "x".repeat(9_000_000) };
  const { subscribe, advance, timers, drain } = await startLive([run], {
    env: { READ_TIMEOUT_MS: "600000" },
  });
  const watcher = await subscribe({
    query: `subscription ($id: ID!) { runUpdated(id: $id) { run { description } } }`,
    variables: { id: experimentId(1) },
  });
  advance(FIRST_POLL);
  await vi.waitUntil(() => timers().includes(FIRST_POLL + 600_000), LONG_TIMEOUT);
  drain();
  advance(1_000);
  await expect(watcher.next()).rejects.toThrow("aborted");
});

test("a slow reader receives the latest state, and not all earlier states", async () => {
  // More than the system buffers of a connection hold.
  const run = { id: 1, last_status: "running", updated_at: "", description: "x".repeat(9_000_000) };
  const { subscribe, advance, reach } = await startLive([run], { env: { READ_TIMEOUT_MS: "600000" } });
  const watcher = await subscribe({
    query: `subscription ($id: ID!) { runUpdated(id: $id) { previousStatus run { status description } } }`,
    variables: { id: experimentId(1) },
  });
  advance(FIRST_POLL);
  await reach(1_000);
  const states = ["starting", "warning", "retrying", "stopping"];
  for (const [index, status] of states.entries()) {
    run.last_status = status;
    await reach((index + 2) * 1_000);
  }
  await reach(6_000);
  const reported = [];
  do reported.push((await watcher.next())?.data?.["runUpdated"]);
  while (!JSON.stringify(reported.at(-1)).includes("STOPPING"));
  expect(reported.length).toBeLessThan(states.length);
});
