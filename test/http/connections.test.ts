import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pino from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import { listConnections } from "../../src/http/connections.ts";
import { createHttpServer, forWebSockets, SOCKET_LIMITS } from "../../src/http/server.ts";
import { serve } from "../../src/serve.ts";
import { openSocket } from "../support/admission.ts";
import { configOf } from "../support/config-of.ts";
import { listen, openPort } from "../support/listen.ts";
import { experimentId } from "../support/live-service.ts";
import { LONG_TIMEOUT, withDeadline } from "../support/long-timeout.ts";
import { TEST_SETTINGS } from "../support/test-settings.ts";
import { openRaw, statusOf, WEB_SOCKET } from "./raw-socket.ts";

const READY = "GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n";

/** The head of a POST whose body does not arrive. */
const POST = "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n";

const settingsFor = (env: Record<string, string>, upstreamUrl = "http://127.0.0.1:9") => ({
  config: configOf({ ...TEST_SETTINGS, HOST: "127.0.0.1", PORT: "0", DRAIN_TIMEOUT_MS: "1", ...env }),
  upstreamUrl: new URL(upstreamUrl),
  log: pino({ level: "silent" }),
});

/** Starts the gateway with its own server. Returns functions that open connections from an address and wait for responses on them. */
async function start(env: Record<string, string> = {}, upstreamUrl?: string) {
  const { port, drain } = await serve(settingsFor(env, upstreamUrl));
  onTestFinished(drain);
  const use = async (connection: Awaited<ReturnType<typeof openRaw>>) => {
    const before = connection.read().split("HTTP/1.1").length;
    await connection.write(READY);
    await connection.statuses(before, "\n");
    return connection;
  };
  return { port, use, open: async (from?: string) => use(await openRaw(port, from)) };
}

/** Headers of a request. */
const headers = (count: number) => Array.from({ length: count }, (_, index) => `h${index}: v`);

test("answers a request with more than 100 headers with 431", async () => {
  const { port } = await start();
  expect(await statusOf(port, "GET /readyz HTTP/1.1", "Host: a", ...headers(99))).toBe("200 OK");
  expect(await statusOf(port, "GET /readyz HTTP/1.1", "Host: a", ...headers(100))).toMatch(/^431 /);
  const offers = ["Connection: upgrade\r\nUpgrade: h2c", WEB_SOCKET];
  for (const offer of offers)
    expect(await statusOf(port, "GET /graphql HTTP/1.1", "Host: a", offer, ...headers(99))).toMatch(/^431 /);
});

test("above MAX_CONNECTIONS, closes the longest idle connection of the busiest address", async () => {
  const { port, open, use } = await start({ MAX_CONNECTIONS: "5" });
  // WebSockets have a limit of their own.
  await openSocket({ url: `http://127.0.0.1:${port}` }, { token: null });
  const other = await open("127.0.0.2");
  const many = [await open(), await open(), await open(), await open()] as const;
  await use(many[0]);
  await many[1].write(`${POST}\r\n`);
  await use(await open("127.0.0.2"));
  expect(await many[2].closed).toBe(false);
  await use(await open("127.0.0.3"));
  expect(await many[3].closed).toBe(false);
  expect([other, many[0], many[1]].map(({ socket }) => socket.closed)).toEqual([false, false, false]);
  await Promise.all([use(other), use(many[0])]);
});

test("closes a new connection if no other is idle", async () => {
  const { port, open } = await start({ MAX_CONNECTIONS: "1" });
  const busy = await open();
  await busy.write(`${POST}Expect: 100-continue\r\n\r\n`);
  await busy.statuses(2);
  const { closed } = await openRaw(port);
  expect(await closed).toBe(false);
  expect(busy.socket.closed).toBe(false);
});

test("a new connection replaces one whose client does not read its response", async () => {
  const chunk = Buffer.alloc(1_000_000);
  const upstream = await listen((_request, response) => {
    const write = () => {
      while (response.write(chunk));
    };
    response.on("drain", write);
    write();
  });
  const { port } = await start({ MAX_CONNECTIONS: "1", READ_TIMEOUT_MS: "600000" }, upstream);
  const unread = await openRaw(port);
  await unread.write(`GET /downloads/${experimentId(1)}/outputs HTTP/1.1\r\nHost: a\r\n`);
  await unread.write("Authorization: token a\r\n\r\n");
  await once(unread.socket, "data");
  unread.socket.pause();
  await vi.waitUntil(async () => {
    const other = await openRaw(port, "127.0.0.2");
    await other.write(READY);
    await Promise.race([other.closed, other.statuses(1)]);
    return other.read().includes("200 OK");
  }, LONG_TIMEOUT);
  unread.socket.resume();
  await unread.closed;
  expect(unread.socket.readyState).toBe("closed");
});

test("accepts no pipelined request while more than MAX_CONNECTIONS responses are open", async () => {
  const { port } = await start({ MAX_CONNECTIONS: "2" });
  const pipelining = await openRaw(port);
  await pipelining.write(`${READY}${READY}`);
  await pipelining.statuses(2, "\n");
  await pipelining.write(READY.repeat(3));
  expect(await pipelining.closed).toBe(false);
});

/** Blocks the thread, and with it the gateway. */
const block = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test.each([
  ["heads that did not arrive", "GET / HTTP/1.1\r\n", 408],
  ["idle connections", READY, 200],
])("closes %s over several ticks if they expire together", async (_, sent, status) => {
  await withDeadline(async (deadlineMs) => {
    const limits = { ...SOCKET_LIMITS, headersTimeout: deadlineMs, keepAliveTimeout: deadlineMs };
    const server = createHttpServer((_request, response) => void response.end("ready\n"), {
      ...limits,
      connectionsCheckingInterval: 10,
    });
    const listed = listConnections(server);
    const port = await openPort(server);
    const opened = await Promise.all(Array.from({ length: 200 }, () => openRaw(port)));
    await Promise.all(opened.map(({ write }) => write(sent)));
    if (status === 200) await Promise.all(opened.map(({ statuses }) => statuses(1, "ready\n")));
    await vi.waitUntil(() => listed.members().every(({ bytesRead }) => bytesRead > 0), LONG_TIMEOUT);
    expect(listed.size).toBe(200);
    block(deadlineMs + 2_000);
    let most = 0;
    while (listed.size > 0) {
      const before = listed.size;
      await new Promise((resolve) => void setImmediate(resolve));
      most = Math.max(most, before - listed.size);
    }
    expect(most).toBeLessThan(100);
    for (const { closed, read } of opened) {
      await closed;
      expect(read()).toContain(`HTTP/1.1 ${status} `);
    }
  });
});

test("an open WebSocket keeps no request in memory", async () => {
  const gateway = createGateway(settingsFor({}));
  onTestFinished(() => gateway.close());
  const requests: WeakRef<IncomingMessage>[] = [];
  const server = createHttpServer(gateway.handle).on("upgrade", forWebSockets(gateway.upgrade));
  server.on("upgrade", (request) => requests.push(new WeakRef(request)));
  const { socket } = await openSocket({ url: `http://127.0.0.1:${await openPort(server)}` }, { token: "a" });
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await vi.waitFor(() => {
    collect();
    expect(requests.map((request) => request.deref())).toEqual([undefined]);
  }, LONG_TIMEOUT);
  expect(socket.readyState).toBe(socket.OPEN);
});
