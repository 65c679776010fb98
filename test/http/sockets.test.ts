import { execFileSync } from "node:child_process";
import type { ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pino from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import { listConnections } from "../../src/http/connections.ts";
import { createHttpServer, SOCKET_LIMITS } from "../../src/http/server.ts";
import { configOf } from "../support/config-of.ts";
import { startRecords } from "../support/fake.ts";
import { startDelayed } from "../support/delayed-service.ts";
import { openPort } from "../support/listen.ts";
import { ASK_STATUS, RUNNING_ANSWER, RUNNING_RECORD } from "../support/one-read.ts";
import { LONG_TIMEOUT, withDeadline } from "../support/long-timeout.ts";
import { JSON_BODY, operationText } from "../support/raw-requests.ts";
import { TEST_SETTINGS } from "../support/test-settings.ts";
import { openRaw, statusOf } from "./raw-socket.ts";

/** Every request uses a new connection. */
const HEADERS = { authorization: "token t0ken", connection: "close" };
const BODY = operationText(ASK_STATUS);
const LOG = "/downloads/Sm9iOmFkYS9tbmlzdC8y/logs";

const startRunning = () => startRecords({ "ada/mnist/experiments/42/": RUNNING_RECORD });

/** Limits for slow callers: a time for the head of a request, and a longer one for the whole. */
const limitsOf = (deadlineMs: number) => ({
  headersTimeout: deadlineMs,
  requestTimeout: 1.5 * deadlineMs,
  timeout: 2 * deadlineMs,
});

/** Starts a gateway that allows callers to be as slow as `limits`, by default for minutes. */
async function start(
  service: { readonly url: string },
  limits: Partial<typeof SOCKET_LIMITS> = {},
  env: Record<string, string> = {},
) {
  const gateway = createGateway({
    config: configOf({ ...TEST_SETTINGS, ...env }),
    upstreamUrl: new URL(service.url),
    log: pino({ level: "silent" }),
  });
  const server = createHttpServer(gateway.handle, {
    ...SOCKET_LIMITS,
    ...limitsOf(300_000),
    connectionsCheckingInterval: 20,
    ...limits,
  });
  const listed = listConnections(server);
  // Weak references, to find out whether anything else retains the objects.
  const responses: WeakRef<ServerResponse>[] = [];
  let connections = 0;
  let silences = 0;
  // The timeout is set on each socket. If it were set on the server, a listener would keep Node.js from closing connections.
  server.on("connection", (socket) => {
    connections++;
    socket.on("timeout", () => silences++);
  });
  server.on("request", (_, response) => responses.push(new WeakRef(response)));
  onTestFinished(() => gateway.close());
  const port = await openPort(server);
  return {
    port,
    responses,
    listed,
    /** Number of connections that were silent for too long. */
    silences: () => silences,
    connections: () => connections,
    open: () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((fault, count) => (fault ? reject(fault) : resolve(count))),
      ),
    ask: async () => {
      const options = { method: "POST", headers: { ...HEADERS, ...JSON_BODY }, body: BODY };
      return (await fetch(`http://127.0.0.1:${port}/graphql`, options)).json();
    },
  };
}

/** The bytes that are sent first, and a string that is then repeated without end. */
type Dawdler = readonly [first: string, more?: string];

/** Opens a connection and sends slowly. Returns the response once the gateway has closed the connection. */
async function dawdle(port: number, [first, more]: Dawdler): Promise<string> {
  const { socket, closed, read } = await openRaw(port);
  socket.write(first);
  const trickle = more === undefined ? undefined : setInterval(() => socket.write(more), 50);
  await closed;
  clearInterval(trickle);
  return read();
}

const HEAD =
  "POST /graphql HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nAuthorization: token t0ken\r\n";

const DAWDLERS: readonly Dawdler[] = [
  [""],
  [`${HEAD}X-Slow: `, "a"],
  [`${HEAD}Content-Length: 500\r\n\r\n`],
  [`${HEAD}Content-Length: 500\r\n\r\n{`, " "],
  [`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, "1\r\n \r\n"],
  [`GET ${LOG} HTTP/1.1\r\n`],
  ["POST /nowhere HTTP/1.1\r\nHost: gateway\r\nContent-Type", "x"],
];

test("closes 500 slow clients with 408 while answering all others", async () => {
  await withDeadline(async (deadlineMs) => {
    // The limit is far lower than the number of slow clients.
    const gateway = await start(await startRunning(), limitsOf(deadlineMs), { MAX_OPERATIONS: "8" });
    expect(await gateway.ask()).toEqual(RUNNING_ANSWER);
    const left = new AbortController();
    const query = `subscription { runUpdated(id: "ada.mnist.experiments.42") { run { status } } }`;
    const headers = { ...HEADERS, ...JSON_BODY, accept: "text/event-stream" };
    const options = { method: "POST", headers, body: operationText(query), signal: left.signal };
    await fetch(`http://127.0.0.1:${gateway.port}/graphql`, options);
    left.abort();
    const dawdling = Promise.all(
      Array.from({ length: 500 }, (_, round) =>
        dawdle(gateway.port, DAWDLERS[round % DAWDLERS.length] as Dawdler),
      ),
    );
    const gone = new AbortController();
    const reported = dawdling.finally(() => gone.abort());
    await vi.waitUntil(() => gateway.connections() > 500, LONG_TIMEOUT);
    let asked = 0;
    while (!gone.signal.aborted) {
      expect(await gateway.ask()).toEqual(RUNNING_ANSWER);
      asked++;
    }
    expect(asked).toBeGreaterThan(0);
    expect(new Set((await reported).map((words) => words.split("\r\n", 1)[0]))).toEqual(
      new Set(["HTTP/1.1 408 Request Timeout"]),
    );
    await vi.waitUntil(async () => (await gateway.open()) === 0, LONG_TIMEOUT);
    // No part of the requests is retained in memory.
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    await vi.waitFor(() => {
      collect();
      expect(gateway.listed.size).toBe(0);
      expect(gateway.responses.filter((response) => response.deref() !== undefined)).toEqual([]);
    }, LONG_TIMEOUT);
    expect(gateway.responses.length).toBeGreaterThan(150 + asked);
    expect(await gateway.ask()).toEqual(RUNNING_ANSWER);
  });
});

test("answers a waiting client, and disconnects a client that never reads", async () => {
  const service = await startDelayed();
  const { pending } = service;
  const gateway = await start(service, { timeout: 50 }, { READ_TIMEOUT_MS: "600000" });
  const { socket, write } = await openRaw(gateway.port);
  socket.pause();
  await write(`GET ${LOG} HTTP/1.1\r\nHost: a\r\nAuthorization: token t0ken\r\n\r\n`);
  await vi.waitUntil(() => pending.length === 1, LONG_TIMEOUT);
  pending.shift()?.end("x".repeat(20_000_000));
  const waiting = gateway.ask();
  const log = fetch(`http://127.0.0.1:${gateway.port}${LOG}`, { headers: HEADERS });
  await vi.waitUntil(() => pending.length === 2 && gateway.silences() >= 2, LONG_TIMEOUT);
  for (const response of pending) response.end(JSON.stringify(RUNNING_RECORD));
  expect(await waiting).toEqual(RUNNING_ANSWER);
  expect(await (await log).json()).toEqual(RUNNING_RECORD);
  await vi.waitUntil(async () => (await gateway.open()) === 0, LONG_TIMEOUT);
});

/** Sends requests and disconnects without waiting for responses. */
const LEAVE = `
  const { connect } = require("node:net");
  const [port, ...requests] = process.argv.slice(1);
  const sent = requests.map((request) => new Promise((done) => connect(port, "127.0.0.1").end(request, done)));
  Promise.all(sent).then(() => process.exit());
`;

test("clients that disconnect before being served cause no upstream requests", async () => {
  const service = await startRunning();
  const gateway = await start(service);
  expect(await gateway.ask()).toEqual(RUNNING_ANSWER);
  const posted = `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
  const target = `/graphql?${new URLSearchParams({ query: ASK_STATUS }).toString()}`;
  const got = `GET ${target} HTTP/1.1\r\nHost: gateway\r\nAuthorization: token t0ken\r\n\r\n`;
  // Meanwhile the gateway's thread is blocked, so the connections wait to be accepted, as under overload.
  const requests = Array.from({ length: 20 }, () => [posted, got]).flat();
  execFileSync(process.execPath, ["-e", LEAVE, `${gateway.port}`, ...requests]);
  await vi.waitUntil(() => gateway.responses.length === 41, LONG_TIMEOUT);
  await vi.waitUntil(async () => (await gateway.open()) === 0, LONG_TIMEOUT);
  expect(service.calls()).toHaveLength(1);
  expect(await gateway.ask()).toEqual(RUNNING_ANSWER);
  expect(service.calls()).toHaveLength(2);
});

test("refuses CONNECT, because the gateway is not a proxy", async () => {
  const { port } = await start(await startRunning());
  expect(await statusOf(port, "CONNECT service:80 HTTP/1.1", "Host: service")).toBe("400 Bad Request");
});
