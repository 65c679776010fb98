import { expect, test, vi } from "vitest";
import { startDelayed } from "../support/delayed-service.ts";
import { experimentId, RUN_UPDATED } from "../support/live-service.ts";
import { startReady } from "../support/main-process.ts";
import { ASK_STATUS, RUNNING_ANSWER, RUNNING_RECORD } from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { JSON_BODY, operationText } from "../support/raw-requests.ts";
import { subscribe } from "../support/subscriber.ts";
import { openRaw, WEB_SOCKET } from "./raw-socket.ts";

/** Starts the gateway as a separate process, in front of a service that responds only when the test requests it. */
async function startProcess() {
  const service = await startDelayed();
  // Long enough that no timeout ends the test.
  const settings = { DRAIN_TIMEOUT_MS: "3600000", UPSTREAM_URL: service.url };
  const { ended, err, printed, kill, url } = await startReady(settings);
  return {
    url: new URL(url).origin,
    ended,
    err,
    /** Resolves when `count` requests are open at the service. */
    asked: async (count: number) => {
      await vi.waitUntil(() => service.pending.length === count, LONG_TIMEOUT);
      return service.pending;
    },
    kill,
    terminate: () => kill("SIGTERM"),
    /** Sends SIGTERM, and waits until the gateway no longer listens. */
    stop: async () => {
      kill("SIGTERM");
      await printed(/"msg":"draining"/);
      const refused = { code: "ECONNREFUSED" };
      await vi.waitFor(() => expect(openRaw(url)).rejects.toMatchObject(refused), LONG_TIMEOUT);
    },
  };
}

const askExperiment = (url: string) =>
  fetch(`${url}/graphql`, {
    method: "POST",
    headers: { ...JSON_BODY, authorization: "token t0ken" },
    body: operationText(ASK_STATUS),
  });

const LOG = "/downloads/Sm9iOmFkYS9tbmlzdC8y/logs";
const GET_READY = "GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n";
const rest = "Host: g\r\nAuthorization: token t\r\n";

test("on SIGTERM stops listening, reports draining, finishes requests and exits with 0", async () => {
  const gateway = await startProcess();
  const underWay = askExperiment(gateway.url);
  const [waiting] = await gateway.asked(1);
  const opening = fetch(gateway.url + LOG, { headers: { authorization: "token t0ken" } });
  const [, log] = await gateway.asked(2);
  log?.writeHead(200, { "content-type": "text/plain" }).write("first\n");
  const logged = (await opening).text();
  // A connection in the middle of a request is not idle, so its request is still handled.
  const probe = await openRaw(gateway.url);
  await probe.write("GET /readyz HTTP/1.1\r\nHost: gateway\r\n");
  const late = await openRaw(gateway.url);
  await late.write(GET_READY);
  await vi.waitFor(() => expect(late.read()).toContain("ready\n"), LONG_TIMEOUT);
  const before = late.read().length;
  const half = await openRaw(gateway.url);
  await half.write("GET /readyz HTTP/1.1\r\n");
  await gateway.stop();
  await probe.write("\r\n");
  await probe.closed;
  expect(probe.read()).toMatch(/^HTTP\/1\.1 503 [^]*\r\nconnection: close\r\n[^]*draining\n/i);
  await late.write(`GET ${LOG} HTTP/1.1\r\n${rest}\r\n`);
  const [, , another] = await gateway.asked(3);
  another?.writeHead(200, { "content-type": "text/plain" }).end("a line\n");
  await late.closed;
  expect(late.read().slice(before)).toMatch(/^HTTP\/1\.1 200 [^]*a line/);
  // Waits until no new requests are accepted, so that nothing else closes the connections.
  await half.closed;
  // Some clients would interpret the header as the end of the file.
  expect(late.read().slice(before)).not.toMatch(/connection: close/i);
  waiting?.writeHead(200, JSON_BODY).end(JSON.stringify(RUNNING_RECORD));
  log?.end("last\n");
  expect(await (await underWay).json()).toEqual(RUNNING_ANSWER);
  expect(await logged).toBe("first\nlast\n");
  // Shutdown does not wait for unused connections.
  expect(await gateway.ended).toBe(0);
  expect(gateway.err()).not.toMatch(/^ {4}at /m);
});

test("answers all pipelined requests while draining; only the last closes the connection", async () => {
  const gateway = await startProcess();
  const { write, closed, read } = await openRaw(gateway.url);
  const body = operationText(ASK_STATUS);
  const head = `POST /graphql HTTP/1.1\r\n${rest}content-type: application/json\r\ncontent-length: ${body.length}`;
  await write(`${head}\r\n\r\n${body}`.repeat(3));
  const [pending] = await gateway.asked(1);
  await gateway.stop();
  pending?.writeHead(200, JSON_BODY).end(JSON.stringify(RUNNING_RECORD));
  await closed;
  expect(read().match(/ 200 OK|connection: close/gi)).toEqual([
    " 200 OK",
    " 200 OK",
    " 200 OK",
    "connection: close",
  ]);
  expect(await gateway.ended).toBe(0);
});

const UPGRADE = `GET /graphql HTTP/1.1\r\n${rest}${WEB_SOCKET}\r\n\r\n`;
test("pending polls, silent WebSockets and idle connections do not delay shutdown", async () => {
  const gateway = await startProcess();
  const stream = await subscribe(gateway.url, { query: RUN_UPDATED, variables: { id: experimentId(1) } });
  const [poll] = await gateway.asked(1);
  // The client of this socket never answers the close frame.
  const socket = await openRaw(gateway.url);
  await socket.write(UPGRADE.replace("Sec-", "Sec-WebSocket-Protocol: graphql-transport-ws\r\nSec-"));
  await vi.waitFor(() => expect(socket.read()).toContain(" 101 "), LONG_TIMEOUT);
  await openRaw(gateway.url);
  const idle = await openRaw(gateway.url);
  await idle.write(GET_READY);
  await vi.waitFor(() => expect(idle.read()).toContain("ready\n"), LONG_TIMEOUT);

  gateway.terminate();
  // The stream ends without `complete` and without a fault.
  expect(await stream.next()).toBe(null);
  expect(await gateway.ended).toBe(0);
  // An idle connection gets no response.
  expect(idle.read()).not.toContain(" 408 ");
  await socket.closed;
  // Nothing follows the close frame.
  expect(socket.read().endsWith("\u0003\ufffdGoing away")).toBe(true);
  expect(poll?.destroyed || poll?.socket?.destroyed).toBe(true);
});

test.each([
  ["head", "POST /graphql HTTP/1.1\r\nHost: gateway\r\n"],
  ["body", `POST /graphql HTTP/1.1\r\n${rest}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`],
])("a request whose %s does not arrive delays shutdown only briefly", async (_, half) => {
  const gateway = await startProcess();
  const { write, read } = await openRaw(gateway.url);
  await write(half);
  // A download, which needs no body, has begun.
  const download = await openRaw(gateway.url);
  await download.write(`GET ${LOG} HTTP/1.1\r\n${rest}content-length: 1\r\n\r\n`);
  const [log] = await gateway.asked(1);
  log?.writeHead(200, { "content-type": "text/plain" }).write("begun");
  await gateway.stop();
  expect(await gateway.ended).toBe(0);
  // The 408 of Node.js, which is sent much later, has no length.
  expect(read()).toMatch(/^HTTP\/1\.1 408 [^]*content-length: 0/);
  // The download breaks off, and no part of it looks like its end.
  expect(download.read()).toMatch(/^HTTP\/1\.1 200 [^]*begun\r\n$/);
});

test("answers connections opened before SIGTERM, including those not yet accepted", async () => {
  const gateway = await startProcess();
  gateway.kill("SIGSTOP");
  const clients = await Promise.all(Array.from({ length: 50 }, () => openRaw(gateway.url)));
  for (const { write } of clients) await write(GET_READY);
  gateway.terminate();
  gateway.kill("SIGCONT");
  await Promise.all(clients.map(({ closed }) => closed));
  expect(clients.filter(({ read }) => !/^HTTP\/1\.1 (?:200|503) /.test(read()))).toEqual([]);
  expect(await gateway.ended).toBe(0);
});

test("exits immediately with code 1 on a second SIGTERM", async () => {
  const gateway = await startProcess();
  const underWay = askExperiment(gateway.url).catch(({ message }: Error) => message);
  await gateway.asked(1);
  await gateway.stop();
  gateway.terminate();
  expect(await gateway.ended).toBe(1);
  expect(await underWay).toBe("fetch failed");
});
