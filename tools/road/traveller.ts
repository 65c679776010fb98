import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import type * as ConfigModule from "../../src/config.ts";
import type { Clock } from "../../src/clock.ts";
import type { Log } from "../../src/observability/log.ts";
import type * as ServeModule from "../../src/serve.ts";
import { NO_DEADLINES } from "../../test/support/patience.ts";
import type { Instrumented } from "./instrument.ts";

/** A client of the gateway, which also moves the gateway's clock. */
export interface Traveller {
  readonly get: (path: string) => Promise<string>;
  readonly post: (path: string, body: object) => Promise<string>;
  /** Opens the one subscription. */
  readonly subscribe: (params: object) => Promise<void>;
  /** Moves the clock on until the subscription has another event. */
  readonly event: () => Promise<string>;
}

/** Answers GETs and POSTs by their paths below `/api/v1/`. */
async function startService(answers: Readonly<Record<string, (reads: number) => unknown>>) {
  const reads = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = `${request.url}`.replace("/api/v1/", "");
    reads.set(path, (reads.get(path) ?? 0) + 1);
    const answer = answers[path]?.(reads.get(path) ?? 0);
    request.resume();
    if (answer === undefined) response.statusCode = 404;
    const isText = typeof answer === "string";
    response.setHeader("content-type", isText ? "text/plain" : "application/json");
    response.end(isText ? answer : JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A clock that stands until it is moved to its next timer. */
function startClock() {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  const clock: Clock = {
    now: () => now,
    after: (ms, callback) => {
      const timer = { at: now + ms, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
  const next = (): void => {
    const [first] = [...timers].toSorted((one, other) => one.at - other.at);
    if (!first) return;
    timers.delete(first);
    now = Math.max(now, first.at);
    first.callback();
  };
  return { clock, next };
}

/** Lets everything come to rest that needs no time to pass: what is on its way between sockets, callbacks of their ends. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await setImmediate();
}

/** The frames of an event stream with a result. */
async function* resultsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of stream) {
    text += decoder.decode(piece, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      if (text.startsWith("event: next")) yield text.slice(0, end);
      text = text.slice(end + 2);
    }
  }
}

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Starts an instrumented gateway that listens, in front of a service of its own. */
export async function startTraveller(
  { load }: Instrumented,
  answers: Readonly<Record<string, (reads: number) => unknown>>,
) {
  const { readConfig } = await load<typeof ConfigModule>("src/config.ts");
  const { serve } = await load<typeof ServeModule>("src/serve.ts");
  const service = await startService(answers);
  const { clock, next } = startClock();
  const config = readConfig({ ...NO_DEADLINES, HOST: "127.0.0.1", PORT: "0", MCP: "read" });
  const { port, drain } = await serve({ config, upstreamUrl: service.url, log: silent, clock });
  const headers = {
    authorization: "Bearer t0ken",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { ...headers, ...init.headers } });
  const left = new AbortController();
  let results: AsyncGenerator<string> | undefined;

  const traveller: Traveller = {
    get: async (path) => (await send(path)).text(),
    post: async (path, body) =>
      (
        await send(path, {
          method: "POST",
          body: JSON.stringify(body),
          ...(path === "/graphql" ? { headers: { accept: "application/json" } } : {}),
        })
      ).text(),
    subscribe: async (params) => {
      const { body } = await send("/graphql", {
        method: "POST",
        body: JSON.stringify(params),
        headers: { accept: "text/event-stream" },
        signal: left.signal,
      });
      if (body) results = resultsOf(body);
    },
    event: async () => {
      const arrived: string[] = [];
      const arrival = results?.next().then(({ value }) => arrived.push(value ?? "no event"));
      while (arrived.length === 0) {
        next();
        await settle();
      }
      await arrival;
      return arrived.join("");
    },
  };
  const close = async (): Promise<void> => {
    left.abort();
    await results?.next().catch(() => {});
    await drain();
    service.close();
  };
  return { traveller, close };
}
