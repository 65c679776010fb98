import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { startHolding } from "../support/holding.ts";
import { experimentId, RUN_UPDATED } from "../support/live-service.ts";
import { startMain } from "../support/main-process.ts";
import { PATIENT } from "../support/patience.ts";
import { subscribe } from "../support/subscriber.ts";

/** A service that answers nobody before the test says so. */
async function startSlow() {
  const { url, held } = await startHolding();
  return {
    url,
    /** What it was asked, once that is so many requests. */
    asked: async (count: number) => {
      await vi.waitUntil(() => held.length === count, PATIENT);
      return held;
    },
  };
}

/** The gateway as a process of its own, in front of this service. */
async function startProcess(upstreamUrl: string, environment: Record<string, string> = {}) {
  // What ends does so by itself.
  const settings = { DRAIN_TIMEOUT_MS: "3600000", PORT: "0", UPSTREAM_URL: upstreamUrl };
  const { ended, err, printed, kill } = startMain({ ...settings, ...environment });
  const [, url = ""] = await printed(/Rungraph is ready: (http:\/\/\S+)\/graphql/);
  return {
    url,
    port: Number(new URL(url).port),
    ended,
    err,
    terminate: () => kill("SIGTERM"),
    /** Asks it to stop, and waits until it does not listen any more. */
    stop: async () => {
      kill("SIGTERM");
      await printed(/"msg":"draining"/);
      await vi.waitFor(
        () => expect(connects(Number(new URL(url).port))).resolves.toBe("ECONNREFUSED"),
        PATIENT,
      );
    },
  };
}

/** What comes of a new connection to this port: null, or why there is none. */
async function connects(port: number): Promise<string | null> {
  const socket = connect(port, "127.0.0.1");
  const outcome = await new Promise<string | null>((done) => {
    socket.once("connect", () => done(null));
    socket.once("error", (fault: NodeJS.ErrnoException) => done(fault.code ?? "unknown"));
  });
  socket.destroy();
  return outcome;
}

/** A connection that the test writes itself. */
async function openSocket(port: number) {
  const socket: Socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let read = "";
  socket.on("data", (chunk: Buffer) => (read += chunk.toString()));
  const closed = once(socket, "close");
  await once(socket, "connect");
  onTestFinished(() => void socket.destroy());
  return {
    write: (text: string) => new Promise<void>((done) => socket.write(text, () => done())),
    read: () => read,
    closed,
  };
}

const QUERY = JSON.stringify({ query: `{ experiment(id: "ada.mnist.42") { status } }` });

const askExperiment = (url: string) =>
  fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "token t0ken" },
    body: QUERY,
  });

const answer = (response: ServerResponse | undefined) =>
  response
    ?.writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ id: 42, last_status: "running" }));

const LOG = "/downloads/Sm9iOmFkYS9tbmlzdC8y/logs";

test("asked to stop, it ends what is under way, takes nothing new, says so, and ends with code 0", async () => {
  const service = await startSlow();
  const gateway = await startProcess(service.url);
  const underWay = askExperiment(gateway.url);
  const [waiting] = await service.asked(1);
  const opening = fetch(gateway.url + LOG, { headers: { authorization: "token t0ken" } });
  const [, log] = await service.asked(2);
  log?.writeHead(200, { "content-type": "text/plain" }).write("first\n");
  const logged = (await opening).text();
  // A connection in the middle of its request is no idle one: it is still answered.
  const probe = await openSocket(gateway.port);
  await probe.write("GET /readyz HTTP/1.1\r\nHost: gateway\r\n");
  await gateway.stop();
  await probe.write("\r\n");
  await vi.waitFor(() => expect(probe.read()).toMatch(/^HTTP\/1\.1 503 [^]*draining\n/), PATIENT);
  answer(waiting);
  log?.end("last\n");
  expect(await (await underWay).json()).toEqual({ data: { experiment: { status: "RUNNING" } } });
  expect(await logged).toBe("first\nlast\n");
  // Connections that nobody uses any more are not waited for.
  expect(await gateway.ended).toBe(0);
  expect(gateway.err()).not.toMatch(/^ {4}at /m);
});

const GET_READY = "GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n";

/** What is sent on connections that were open before, and how it is answered. */
const rest = "Host: g\r\nAuthorization: token t\r\n";
const STREAM = "subscription%7BrunUpdated(id:%22ada.mnist.1%22)%7Breason%7D%7D";
const WEB_SOCKET = `Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==`;
const UPGRADE = `GET /graphql HTTP/1.1\r\n${rest}${WEB_SOCKET}\r\n\r\n`;
const LATE = [
  [
    "a query",
    `POST /graphql HTTP/1.1\r\n${rest}Content-Type: application/json\r\nContent-Length: 24\r\n\r\n{"query":"{__typename}"}`,
    200,
  ],
  ["a query by GET", `GET /graphql?query=%7B__typename%7D HTTP/1.1\r\n${rest}\r\n`, 200],
  ["the page", `GET /graphql HTTP/1.1\r\n${rest}Accept: text/html\r\n\r\n`, 200],
  ["the metrics", `GET /metrics HTTP/1.1\r\n${rest}\r\n`, 200],
  ["readiness", GET_READY, 503],
  ["a download", `GET ${LOG} HTTP/1.1\r\n${rest}\r\n`, 200],
  [
    "an event stream",
    `GET /graphql?query=${STREAM} HTTP/1.1\r\n${rest}Accept: text/event-stream\r\n\r\n`,
    503,
  ],
  ["a WebSocket", UPGRADE, 503],
] as const;

test("on connections that were kept, what ends by itself is answered and what does not is refused, each time for the last time", async () => {
  const service = await startSlow();
  const gateway = await startProcess(service.url);
  const kept = await Promise.all(
    LATE.map(async ([name, message, status]) => {
      const socket = await openSocket(gateway.port);
      await socket.write(GET_READY);
      await vi.waitFor(() => expect(socket.read()).toContain("ready\n"), PATIENT);
      return { ...socket, name, message, status, before: socket.read().length };
    }),
  );
  const held = askExperiment(gateway.url);
  const [waiting] = await service.asked(1);
  await gateway.stop();
  for (const { write, message } of kept) await write(message);
  const [, log] = await service.asked(2);
  log?.writeHead(200, { "content-type": "text/plain" }).end("a line\n");
  await Promise.all(kept.map(({ closed }) => closed));
  const answers = kept.map(({ name, read, before }) => {
    const [head = ""] = read().slice(before).split("\r\n\r\n", 1);
    return [name, Number(head.slice(9, 12)), /^connection: close\r?$/im.test(head)];
  });
  // A download does not say so: some clients would take the close for its end.
  expect(answers).toEqual(LATE.map(([name, , status]) => [name, status, name !== "a download"]));
  answer(waiting);
  expect((await held).status).toBe(200);
  expect(await gateway.ended).toBe(0);
});

test("a poll that the service holds, a silent WebSocket and connections without a request do not hold it up", async () => {
  const service = await startSlow();
  const gateway = await startProcess(service.url);
  const stream = await subscribe(gateway.url, { query: RUN_UPDATED, variables: { id: experimentId(1) } });
  const [poll] = await service.asked(1);
  // The client of this socket never answers the close frame.
  const socket = await openSocket(gateway.port);
  await socket.write(UPGRADE.replace("Sec-", "Sec-WebSocket-Protocol: graphql-transport-ws\r\nSec-"));
  await vi.waitFor(() => expect(socket.read()).toContain(" 101 "), PATIENT);
  await openSocket(gateway.port);
  const idle = await openSocket(gateway.port);
  await idle.write(GET_READY);
  await vi.waitFor(() => expect(idle.read()).toContain("ready\n"), PATIENT);

  gateway.terminate();
  // The stream ends without `complete` and without a fault.
  expect(await stream.next()).toBe(null);
  expect(await gateway.ended).toBe(0);
  await socket.closed;
  expect(socket.read()).toContain("\u0003\ufffdGoing away");
  expect(poll?.destroyed || poll?.socket?.destroyed).toBe(true);
});

test.each([
  ["head", "POST /graphql HTTP/1.1\r\nHost: gateway\r\n"],
  [
    "body",
    "POST /graphql HTTP/1.1\r\nHost: gateway\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
  ],
])("a request whose %s does not arrive holds it up for a moment only", async (_, half) => {
  const service = await startSlow();
  const gateway = await startProcess(service.url);
  const { write } = await openSocket(gateway.port);
  await write(half);
  await gateway.stop();
  expect(await gateway.ended).toBe(0);
});

test("asked a second time, it ends at once with code 1", async () => {
  const service = await startSlow();
  const gateway = await startProcess(service.url);
  const underWay = askExperiment(gateway.url).then(
    () => "answered",
    () => "broken off",
  );
  await service.asked(1);
  await gateway.stop();
  gateway.terminate();
  expect(await gateway.ended).toBe(1);
  expect(await underWay).toBe("broken off");
});
