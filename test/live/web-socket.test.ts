import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { experimentId, FIRST_POLL, RUN_UPDATED, startLive, update } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { post } from "../support/raw-requests.ts";
import { clientOf } from "./socket-client.ts";

const ADA = { authorization: "token ada" };
const variables = { id: experimentId(1) };

test("WebSocket and event-stream subscriptions receive the same events and share requests", async () => {
  const run = { id: 1, last_status: "running" };
  const { url, watch, advance, reach, requests, subscriptions, seen } = await startLive([run]);
  const results = clientOf(url, ADA).iterate({ query: RUN_UPDATED, variables });
  const first = results.next();
  const watcher = await watch(1, "ada");
  await subscriptions(2);
  advance(FIRST_POLL);
  expect(await watcher.next()).toEqual(update(1, "RUNNING"));
  expect(await first).toEqual({ done: false, value: update(1, "RUNNING") });
  run.last_status = "succeeded";
  await reach(1_000);
  expect(await results.next()).toEqual({ done: false, value: update(1, "SUCCEEDED", "RUNNING", true) });
  expect(await results.next()).toEqual({ done: true, value: undefined });
  expect(await requests(2)).toHaveLength(2);
  expect(seen().map(({ headers }) => headers["authorization"])).toEqual(["token ada", "token ada"]);
});

test("a token in connection_init may be surrounded by blanks", async () => {
  const { url, advance, subscriptions, seen } = await startLive([{ id: 1, last_status: "running" }]);
  const results = clientOf(url, { authorization: " token ada\n" }).iterate({ query: RUN_UPDATED, variables });
  const first = results.next();
  await Promise.race([first, subscriptions(1)]);
  advance(FIRST_POLL);
  expect(await first).toEqual({ done: false, value: update(1, "RUNNING") });
  expect(seen().map(({ headers }) => headers["authorization"])).toEqual(["token ada"]);
});

test("a message with an empty query names its document by hash", async () => {
  const { url } = await startLive([{ id: 1, last_status: "running" }]);
  const query = `{ experiment(id: "ada.mnist.1") { status } }`;
  const sha256Hash = createHash("sha256").update(query).digest("hex");
  const extensions = { persistedQuery: { version: 1, sha256Hash } };
  const resultOf = () => clientOf(url, ADA).iterate({ query: "", extensions }).next();
  await expect(resultOf()).rejects.toMatchObject([{ extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }]);
  await post(`${url}/graphql`, { query, extensions }, ADA);
  expect(await resultOf()).toEqual({ done: false, value: { data: { experiment: { status: "RUNNING" } } } });
});

test("completing a subscription ends its poll, and the connection stays open", async () => {
  const { url, advance, subscriptions, timers, reach } = await startLive([{ id: 1, last_status: "running" }]);
  const client = clientOf(url, ADA);
  const results = client.iterate({ query: RUN_UPDATED, variables });
  const first = results.next();
  await subscriptions(1);
  advance(FIRST_POLL);
  await first;
  await results.return?.();
  await subscriptions(0);
  expect(timers()).not.toContain(1_000);
  const again = client.iterate({ query: RUN_UPDATED, variables }).next();
  await reach(2 * FIRST_POLL);
  expect(await again).toEqual({ done: false, value: update(1, "RUNNING") });
});

test.each([
  ["without a token", {}, RUN_UPDATED, "UNAUTHENTICATED"],
  ["that is not valid", ADA, "subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"],
  ["that is a mutation", ADA, "mutation { __typename }", "BAD_REQUEST"],
] as const)("a request %s gets its own error code and request id", async (_, params, query, code) => {
  const { url, inOrder, subscriptions } = await startLive([]);
  const results = clientOf(url, params, { "x-request-id": "mine" }).iterate({ query, variables });
  const requestId = expect.not.stringMatching("mine") as string;
  await expect(results.next()).rejects.toMatchObject([{ extensions: { code, requestId } }]);
  expect(inOrder()).toEqual([]);
  await subscriptions(0);
});

/** The status with which the gateway rejects a connection; 101 when it accepts. */
const statusOf = (url: string, path: string, origin?: string) =>
  new Promise<number>((resolve, reject) => {
    const socket = new WebSocket(`${url.replace("http:", "ws:")}${path}`, "graphql-transport-ws", {
      ...(origin !== undefined && { origin }),
    });
    onTestFinished(() => socket.terminate());
    socket.on("unexpected-response", (_, { statusCode = 0 }) => resolve(statusCode));
    socket.on("open", () => resolve(101));
    socket.on("error", reject);
  });

test("WebSockets open only for allowed origins, and only at /graphql", async () => {
  const { url } = await startLive([], { env: { CORS_ORIGINS: "https://app.example" } });
  const statuses = [];
  const others = ["https://app.example.evil", "https://other.example", "null"];
  for (const origin of [undefined, url, "https://app.example", ...others])
    statuses.push(await statusOf(url, "/graphql", origin));
  expect(statuses).toEqual([101, 101, 101, 403, 403, 403]);
  expect(await statusOf(url, "/healthz")).toBe(404);
});

test("a rejected connection is closed even if the client keeps it half-open", async () => {
  const { url } = await startLive([]);
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  const reset = vi.fn<() => void>();
  socket.on("error", reset).resume();
  await once(socket, "end");
  // Data that is sent to a closed connection is answered with a reset.
  await vi.waitUntil(() => {
    if (!socket.destroyed) socket.write("more");
    return reset.mock.calls.length > 0;
  }, LONG_TIMEOUT);
  expect(socket.destroyed).toBe(true);
});

test("a draining gateway closes open and new WebSockets, so that clients reconnect elsewhere", async () => {
  const { url, drain, subscriptions } = await startLive([{ id: 1, last_status: "running" }]);
  const subscribe = () => {
    const events: unknown[] = [];
    const client = clientOf(url, ADA);
    // After an error, which a rejected handshake would be, clients do not connect again.
    client.on("error", (error) => events.push(error));
    client.on("closed", (event) => events.push((event as CloseEvent).code));
    client
      .iterate({ query: RUN_UPDATED, variables })
      .next()
      .catch(() => {});
    return events;
  };
  const before = subscribe();
  await subscriptions(1);
  drain();
  await vi.waitUntil(() => before.length > 0, LONG_TIMEOUT);
  await subscriptions(0);
  const after = subscribe();
  await vi.waitUntil(() => after.length > 0, LONG_TIMEOUT);
  expect([before, after]).toEqual([[1001], [1001]]);
});

test("disconnects a client that does not answer a ping", async () => {
  const { url, subscriptions } = await startLive([{ id: 1, last_status: "running" }]);
  const [intervals, timers] = [vi.spyOn(globalThis, "setInterval"), vi.spyOn(globalThis, "setTimeout")];
  /** The callbacks that `graphql-ws` would call after ten seconds. The test calls them immediately. */
  const tenSecondsOf = ({ mock: { calls } }: typeof intervals | typeof timers) =>
    calls.findLast(([, ms]) => ms === 10_000)?.[0]();
  const socket = new WebSocket(`${url.replace("http:", "ws:")}/graphql`, "graphql-transport-ws", {
    autoPong: false,
  });
  onTestFinished(() => socket.terminate());
  const pings = vi.fn<() => void>();
  const closed = vi.fn<() => void>();
  socket.on("ping", pings).on("close", closed);
  socket.once("message", () =>
    socket.send(JSON.stringify({ id: "1", type: "subscribe", payload: { query: RUN_UPDATED, variables } })),
  );
  socket.on("open", () => socket.send(JSON.stringify({ type: "connection_init", payload: ADA })));
  await subscriptions(1);
  tenSecondsOf(intervals);
  await vi.waitUntil(() => pings.mock.calls.length === 1, LONG_TIMEOUT);
  tenSecondsOf(timers);
  await vi.waitUntil(() => closed.mock.calls.length === 1, LONG_TIMEOUT);
  await subscriptions(0);
  expect(pings).toHaveBeenCalledTimes(1);
});

test("closes a WebSocket if the token in connection_init is too long", async () => {
  const { url } = await startLive([]);
  const socket = new WebSocket(`${url.replace("http:", "ws:")}/graphql`, "graphql-transport-ws");
  onTestFinished(() => socket.terminate());
  const payload = { authorization: `token ${"t".repeat(16_384)}` };
  socket.on("open", () => socket.send(JSON.stringify({ type: "connection_init", payload })));
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  expect([code, `${reason}`]).toEqual([4_400, "authorization: expected at most 16384 characters"]);
});
