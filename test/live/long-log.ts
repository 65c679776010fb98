import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { vi } from "vitest";
import { experimentId, FIRST_POLL, startLive } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import type { Subscriber } from "../support/subscriber.ts";

const LOG_APPENDED = `subscription ($id: ID!, $after: String) {
  runLogAppended(id: $id, after: $after) { text startByte endCursor hasMore }
}`;

export interface Chunk {
  readonly text: string;
  readonly startByte: number;
  readonly endCursor: string;
  readonly hasMore: boolean;
}

function* networkChunks(log: Buffer): Generator<Buffer> {
  for (let at = 0; at < log.length; at += 65_536) yield log.subarray(at, at + 65_536);
}

/**
 * Starts a service with one run and its log, which it sends no faster than the gateway reads. `logOf` receives the `Authorization` header.
 */
export async function startLongLog(logOf: (authorization: string) => Buffer) {
  let moved = 0;
  const open = new Set<ServerResponse>();
  const run = { id: 1, last_status: "running" };
  const service = {
    set status(status: string) {
      run.last_status = status;
    },
    /** Sends the body of a log after its headers. */
    sendBody: (response: ServerResponse, log: Buffer): void => {
      const body = Readable.from(networkChunks(log));
      body.on("data", (chunk: Buffer) => (moved += chunk.length));
      response.once("close", () => body.destroy());
      body.pipe(response);
    },
  };
  const sendLog = (log: Buffer) => (response: ServerResponse) => {
    open.add(response);
    response.once("close", () => open.delete(response));
    response.writeHead(200, { "content-type": "text/plain", "content-length": log.length }).flushHeaders();
    service.sendBody(response, log);
  };
  const live = await startLive([run], {
    answer: ({ path, headers }) =>
      path.endsWith("/logs/") ? sendLog(logOf(`${headers["authorization"]}`)) : undefined,
    env: { READ_TIMEOUT_MS: "600000" },
  });
  return {
    ...live,
    service,
    /** Bytes of logs that were sent, including those in system buffers. */
    moved: () => moved,
    /** Waits until nothing more is sent, because all buffers are full. */
    paused: async (): Promise<void> => {
      let before = 0;
      let samples = 0;
      await vi.waitUntil(() => {
        samples = moved === before ? samples + 1 : 0;
        before = moved;
        return moved > 0 && samples > 40;
      }, LONG_TIMEOUT);
    },
    /** Waits until no log is being sent. */
    closed: () => vi.waitUntil(() => open.size === 0, LONG_TIMEOUT),
    /** Subscribes, and starts the poll. */
    watch: async (after: string | null = null, token = "ada"): Promise<Subscriber> => {
      const variables = { id: experimentId(1), after };
      const subscriber = await live.subscribe({ query: LOG_APPENDED, variables, token });
      await vi.waitUntil(() => live.timers().some((at) => at % 1_000 === FIRST_POLL), LONG_TIMEOUT);
      return subscriber;
    },
  };
}

/** The next chunk of a log; null at the end of its stream. */
export async function chunkOf(subscriber: Subscriber): Promise<Chunk | null> {
  const result = await subscriber.next();
  if (result?.errors) throw new Error(`expected a chunk, got ${JSON.stringify(result.errors)}`);
  return (result?.data?.["runLogAppended"] as Chunk | undefined) ?? null;
}

/** The next chunks of a log, up to its end. */
export async function chunksOf(subscriber: Subscriber): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  do {
    const chunk = await chunkOf(subscriber);
    if (!chunk) throw new Error("expected a chunk, got the end of the stream");
    chunks.push(chunk);
  } while (chunks.at(-1)?.hasMore);
  return chunks;
}

export const textOf = (chunks: readonly Chunk[]): string => chunks.map(({ text }) => text).join("");
