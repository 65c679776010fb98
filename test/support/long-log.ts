import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { vi } from "vitest";
import { onWire, type Seen } from "./fake.ts";
import { startGateway } from "./gateway.ts";
import { handClock } from "./hand-clock.ts";
import { listen } from "./listen.ts";
import { experimentId, FIRST_POLL } from "./live-service.ts";
import { PATIENT } from "./patience.ts";
import { subscribe, type Subscriber } from "./subscriber.ts";

const LOG_APPENDED = `subscription ($id: ID!, $after: String) {
  runLogAppended(id: $id, after: $after) { text startByte endCursor hasMore }
}`;

export interface Piece {
  readonly text: string;
  readonly startByte: number;
  readonly endCursor: string;
  readonly hasMore: boolean;
}

interface LogService {
  /** The log, by the `Authorization` header of the request. */
  readonly logOf: (authorization: string) => Buffer;
  status: string;
  /** Sends the body of a log after its head. */
  sendBody: (response: ServerResponse, log: Buffer) => void;
}

function* chunksOf(log: Buffer): Generator<Buffer> {
  for (let at = 0; at < log.length; at += 65_536) yield log.subarray(at, at + 65_536);
}

/** A service with one run and its log, which it sends no faster than it is read, behind a gateway with a hand clock. */
export async function startLongLog(logOf: LogService["logOf"]) {
  let moved = 0;
  const seen: Seen[] = [];
  const open = new Set<ServerResponse>();
  const service: LogService = {
    logOf,
    status: "running",
    sendBody: (response, log) => {
      const body = Readable.from(chunksOf(log));
      body.on("data", (chunk: Buffer) => (moved += chunk.length));
      response.once("close", () => body.destroy());
      body.pipe(response);
    },
  };
  const url = await listen((request, response) => {
    const { method = "", url: path = "", headers } = request;
    seen.push({ method, path, headers, body: "" });
    if (!path.endsWith("/logs/")) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: 1, unique_name: "ada.mnist.1", last_status: service.status }));
      return;
    }
    const log = service.logOf(`${headers.authorization}`);
    open.add(response);
    response.once("close", () => open.delete(response));
    response.writeHead(200, { "content-type": "text/plain", "content-length": log.length }).flushHeaders();
    service.sendBody(response, log);
  });
  const time = handClock();
  const gateway = await startGateway({
    upstream: { url },
    clock: time.clock,
    env: { READ_TIMEOUT_MS: "600000" },
  });
  return {
    ...time,
    service,
    seen: () => seen,
    inOrder: () => seen.map(onWire),
    /** Bytes of logs that were sent, those in the system's buffers included. */
    moved: () => moved,
    /** Waits until nothing more is sent: the buffers on the way are full. */
    paused: async (): Promise<void> => {
      let before = 0;
      let samples = 0;
      await vi.waitUntil(() => {
        samples = moved === before ? samples + 1 : 0;
        before = moved;
        return moved > 0 && samples > 40;
      }, PATIENT);
    },
    /** Waits until no log is being sent. */
    closed: () => vi.waitUntil(() => open.size === 0, PATIENT),
    /** Waits until the service has seen this many requests, and returns them. */
    requests: async (count: number): Promise<string[]> => {
      await vi.waitUntil(() => seen.length >= count, PATIENT);
      return seen.map(onWire);
    },
    /** Subscribes, and starts the poll. */
    watch: async (after: string | null = null, token = "ada"): Promise<Subscriber> => {
      const variables = { id: experimentId(1), after };
      const subscriber = await subscribe(gateway.url, { query: LOG_APPENDED, variables, token });
      await vi.waitUntil(() => time.timers().some((at) => at % 1_000 === FIRST_POLL), PATIENT);
      return subscriber;
    },
  };
}

/** The next piece of a log; null at the end of its stream. */
export async function pieceOf(subscriber: Subscriber): Promise<Piece | null> {
  const result = await subscriber.next();
  if (result?.errors) throw new Error(`expected a piece, got ${JSON.stringify(result.errors)}`);
  return (result?.data?.["runLogAppended"] as Piece | undefined) ?? null;
}

/** The next pieces of a log, up to the last that the log has. */
export async function piecesOf(subscriber: Subscriber): Promise<Piece[]> {
  const pieces: Piece[] = [];
  do {
    const piece = await pieceOf(subscriber);
    if (!piece) throw new Error("expected a piece, got the end of the stream");
    pieces.push(piece);
  } while (pieces.at(-1)?.hasMore);
  return pieces;
}

export const textOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join("");
