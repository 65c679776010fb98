import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from "node:net";
import { pipeline, Readable } from "node:stream";
import { Worker } from "node:worker_threads";
import { createGzip } from "node:zlib";
import { onTestFinished } from "vitest";
import type { Seen, Told } from "./harness.ts";

/** One exchange that is to go wrong, and what the service would have answered. */
export interface Trouble {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly right: Told;
}

/** A way to go wrong. */
export type Fault = (trouble: Trouble) => unknown;

interface Order {
  readonly route: RegExp;
  readonly fault: Fault;
  /** Which calls of the route, counted from 1, go wrong. */
  readonly isMeant: (call: number) => boolean;
  calls: number;
}

/** Numbers from 0 to 1 as Math.random gives them, the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Which calls go wrong: each with this probability, in every run the same ones. */
export function withProbability(share: number, seed = 1): Order["isMeant"] {
  const next = seeded(seed);
  return () => next() < share;
}

/** Goes wrong in one of these ways, by turns that are the same in every run. */
export function oneOf(...faults: readonly [Fault, ...Fault[]]): Fault {
  const next = seeded(faults.length);
  return (trouble) => (faults[Math.floor(next() * faults.length)] ?? faults[0])(trouble);
}

/** A service over real HTTP that answers rightly, until it is told how to fail and where. */
export async function startFaultServer(answer: (seen: Seen) => Told | undefined) {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let orders: Order[] = [];
  const server = createServer(async (request, response) => {
    response.on("error", () => {});
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url: path = "", headers } = request;
    const asked = { method, path, headers, body: Buffer.concat(chunks).toString() };
    seen.push(asked);
    const right = answer(asked) ?? { json: { detail: "Not found." }, status: 404 };
    const order = orders.find(({ route }) => route.test(`${method} ${path}`));
    if (order?.isMeant(++order.calls)) await order.fault({ request, response, right });
    else tell(response, right);
  });
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  const open = (port: number) =>
    new Promise<void>((ready) => server.listen(port, "127.0.0.1", () => ready()));
  const close = async () => {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await open(0);
  const { port } = server.address() as AddressInfo;
  onTestFinished(close);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** In the order of their arrival: `GET ada/mnist/jobs/3/`. */
    calls: (route = /./) =>
      seen
        .map(({ method, path }) => `${method} ${path.replace("/api/v1/", "")}`)
        .filter((call) => route.test(call)),
    seen: () => seen,
    connections: () => connections,
    /** From now on requests whose `METHOD path` matches go wrong. */
    fail: (route: RegExp, fault: Fault, isMeant: Order["isMeant"] = () => true) => {
      orders = [{ route, fault, isMeant, calls: 0 }, ...orders];
    },
    heal: () => {
      orders = [];
    },
    /** Closes the port: who connects is refused. */
    stop: close,
    /** Listens again where it listened. */
    restart: () => open(port),
  };
}

export type FaultServer = Awaited<ReturnType<typeof startFaultServer>>;

/** A port that takes connections, counts them, and says nothing. */
export async function startCounter() {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createSocketServer((socket) => {
    connections++;
    sockets.add(socket.on("error", () => {}));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", () => ready()));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, connections: () => connections };
}

/** Listens in a thread that blocks at once: what connects waits in the queue of the system, which holds two. */
const LISTEN_AND_BLOCK = `
  const { parentPort } = require("node:worker_threads");
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

/** A port that answers no SYN any more, as behind a firewall that drops them: its queue is full. */
export async function startDeaf() {
  const worker = new Worker(LISTEN_AND_BLOCK, { eval: true });
  onTestFinished(() => void worker.terminate());
  const [port] = (await once(worker, "message")) as [number];
  const sockets = await Promise.all(
    [1, 2].map(async () => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      return socket;
    }),
  );
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${port}` };
}

const bodyOf = (told: Told): Buffer => Buffer.from("json" in told ? JSON.stringify(told.json) : told.text);

const headersOf = (told: Told) => ({
  "content-type": "json" in told ? "application/json" : "text/plain",
  ...told.headers,
});

function tell(response: ServerResponse, told: Told): void {
  response.writeHead(told.status ?? 200, headersOf(told)).end(bodyOf(told));
}

/** Takes the request and never answers. */
export const hang: Fault = () => {};

/** Answers as told instead. */
export const say =
  (told: Told): Fault =>
  ({ response }) =>
    tell(response, told);

/** Answers rightly, with the body made over. */
export const garble =
  (over: (body: Buffer) => Buffer | string, headers: Record<string, string> = {}): Fault =>
  ({ response, right }) =>
    tell(response, { text: over(bodyOf(right)), headers: { ...headersOf(right), ...headers } });

/** Answers rightly, with the JSON made over. */
export const mangle = (over: (json: unknown) => unknown): Fault =>
  garble((body) => {
    const json: unknown = JSON.parse(body.toString());
    return JSON.stringify(over(json));
  });

/** Breaks the connection before a byte of the answer. */
export const reset: Fault = ({ request }) => request.socket.resetAndDestroy();

/** Breaks the connection in the middle of the body. */
export const resetMidBody: Fault = ({ request, response, right }) => {
  const body = bodyOf(right);
  response.writeHead(200, { ...headersOf(right), "content-length": body.length });
  response.write(body.subarray(0, body.length / 2), () => request.socket.resetAndDestroy());
};

/** Promises more bytes than there are, and then hangs up or keeps silent. */
export const promiseTooMuch =
  (then: "hangs up" | "is silent"): Fault =>
  ({ request, response, right }) => {
    const body = bodyOf(right);
    response.writeHead(200, { ...headersOf(right), "content-length": body.length + 100 });
    response.write(body, () => then === "hangs up" && request.socket.end());
  };

/** The right answer, a byte at a time. */
export const trickle =
  (pauseMs: number): Fault =>
  ({ response, right }) => {
    const body = bodyOf(right);
    response.writeHead(200, { ...headersOf(right), "content-length": body.length });
    let at = 0;
    const timer = setInterval(() => {
      response.write(body.subarray(at, ++at));
      if (at < body.length) return;
      clearInterval(timer);
      response.end();
    }, pauseMs);
    response.on("close", () => clearInterval(timer));
  };

/** The same chunk over and over, as fast as it is taken: so many times, or without end. */
export const flood =
  ({ chunk, times = Number.POSITIVE_INFINITY }: { chunk: string | Buffer; times?: number }): Fault =>
  ({ response, right }) => {
    response.writeHead(200, headersOf(right));
    function* chunks() {
      for (let sent = 0; sent < times; sent++) yield chunk;
    }
    // Who has had enough breaks off: that is no error here.
    pipeline(Readable.from(chunks()), response, () => {});
  };

/** A few bytes that inflate to as many megabytes of blanks. */
export async function bombOf(megabytes: number): Promise<Buffer> {
  const zip = createGzip({ level: 1 });
  const parts: Buffer[] = [];
  zip.on("data", (part: Buffer) => parts.push(part));
  const blanks = Buffer.alloc(1_000_000, " ");
  for (let written = 0; written < megabytes; written++) {
    if (!zip.write(blanks)) await once(zip, "drain");
  }
  zip.end();
  await once(zip, "end");
  return Buffer.concat(parts);
}

/** Sends on to another address. */
export const redirect =
  (status: number, location: (request: IncomingMessage) => string): Fault =>
  ({ request, response }) =>
    tell(response, { status, text: "", headers: { location: location(request) } });
