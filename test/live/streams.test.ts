import { expect, test, vi } from "vitest";
import { experimentId, FIRST_POLL, RUN_UPDATED, startLive, update } from "../support/live-service.ts";
import { PATIENT, withoutPings } from "../support/patience.ts";

const RUNNING = [{ id: 1, last_status: "running" }];

test("an event stream begins with a comment, has more while it is quiet, and is not transformed", async () => {
  const { watch, advance } = await startLive(RUNNING);
  const watcher = await watch(1);
  const { "content-type": type, "cache-control": cache, "content-encoding": encoding } = watcher.headers;
  expect({ type, cache, encoding }).toEqual({
    type: "text/event-stream",
    cache: "private, no-store, no-transform",
    encoding: undefined,
  });
  const comment = { event: ":", data: "" };
  expect(await watcher.frame()).toEqual(comment);
  advance(FIRST_POLL);
  expect(await watcher.next()).toEqual(update(1, "RUNNING"));
  expect([await watcher.frame(), await watcher.frame()]).toEqual([comment, comment]);
});

test("a subscription is a GET as well, and needs a caller that takes event streams", async () => {
  const { url, advance } = await startLive(RUNNING);
  const search = new URLSearchParams({
    query: RUN_UPDATED,
    variables: JSON.stringify({ id: experimentId(1) }),
  });
  const ask = (accept: string) =>
    fetch(`${url}/graphql?${search}`, { headers: { accept, authorization: "token t0ken" } });
  const refused = await ask("application/json");
  expect(refused.status).toBe(406);
  expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: "BAD_REQUEST" } }] });
  const response = await ask("text/event-stream");
  advance(FIRST_POLL);
  let text = "";
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString();
    if (text.includes("data:")) break;
  }
  expect(text.replaceAll(/^:\n\n/gm, "")).toBe(
    `event: next\ndata: ${JSON.stringify(update(1, "RUNNING"))}\n\n`,
  );
});

test("limits of documents hold for subscriptions, which have one root field", async () => {
  const { subscribe } = await startLive(RUNNING, { env: { MAX_DEPTH: "4", MAX_FIELDS: "3" } });
  const codes = [];
  for (const query of [
    `subscription { runUpdated(id: "x") { run { project { owner { username } } } } }`,
    `subscription { runUpdated(id: "x") { reason previousStatus run { id } } }`,
    `subscription { a: runUpdated(id: "x") { reason } b: runUpdated(id: "y") { reason } }`,
  ]) {
    const told = await (await subscribe({ query })).next();
    codes.push(told?.errors?.map(({ extensions }) => extensions["code"]));
  }
  expect(codes).toEqual([["OPERATION_TOO_DEEP"], ["OPERATION_TOO_LARGE"], ["GRAPHQL_VALIDATION_FAILED"]]);
});

test.each([
  `subscription ($id: ID!, $no: Boolean!) { runUpdated(id: $id) @include(if: $no) { reason } }`,
  `subscription ($id: ID!, $no: Boolean!) { ... @include(if: $no) { runUpdated(id: $id) { reason } } }`,
  `subscription ($id: ID!) { ...Root } fragment Root on Subscription { runUpdated(id: $id) @skip(if: true) { reason } }`,
])("the one root field of a subscription cannot be left out: %s", async (query) => {
  const { subscribe, logged } = await startLive(RUNNING);
  const told = await (await subscribe({ query, variables: { id: experimentId(1), no: false } })).next();
  expect(told?.errors).toMatchObject([
    {
      message: "Expected no @skip or @include at the root of a subscription.",
      extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
    },
  ]);
  expect(logged()).not.toContain("unexpected error");
});

test("a gateway that stops ends event streams without completing them, so that clients subscribe again", async () => {
  withoutPings();
  const { watch, advance, drain, subscriptions } = await startLive(RUNNING);
  const watchers = await Promise.all(Array.from({ length: 10 }, () => watch(1)));
  advance(FIRST_POLL);
  for (const watcher of watchers) await watcher.next();
  drain();
  for (const watcher of watchers) expect(await watcher.frame()).toBe(null);
  await subscriptions(0);
});

test("a gateway that stops waits a second for the readers of event streams", async () => {
  // More than the system buffers of a connection take.
  const run = { id: 1, last_status: "running", updated_at: "", description: "x".repeat(9_000_000) };
  const { subscribe, advance, timers, drain } = await startLive([run], {
    env: { READ_TIMEOUT_MS: "600000" },
  });
  const watcher = await subscribe({
    query: `subscription ($id: ID!) { runUpdated(id: $id) { run { description } } }`,
    variables: { id: experimentId(1) },
  });
  advance(FIRST_POLL);
  await vi.waitUntil(() => timers().includes(FIRST_POLL + 600_000), PATIENT);
  drain();
  advance(1_000);
  await expect(watcher.next()).rejects.toThrow("aborted");
});

test("a slow reader is told the latest state when it reads again, not those in between", async () => {
  // More than the system buffers of a connection take.
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
  const told = [];
  do told.push((await watcher.next())?.data?.["runUpdated"]);
  while (!JSON.stringify(told.at(-1)).includes("STOPPING"));
  expect(told.length).toBeLessThan(states.length);
});
