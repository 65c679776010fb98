import type { ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import type { RequestScope } from "../../request-scope.ts";
import { acceptsGzip, compressEach } from "../compression.ts";
import { onceOver } from "../connection.ts";
import type { Delivery } from "../delivery.ts";
import { lazily } from "../once.ts";
import { PRIVATE, type StreamForm } from "./encoding.ts";

interface Settings {
  readonly delivery: Delivery;
  readonly clock: Clock;
}

interface Stream {
  readonly type: StreamForm["type"];
  readonly status: number;
  /** Whether it has no end of its own, so that a drain cuts it. */
  readonly lasts: boolean;
}

/** How long a client may take to read the end of its stream, in milliseconds. */
const CLOSING_MS = 1_000;

/** Writes messages as they come: the events of subscriptions, and results in pieces. */
export function createStreams({ delivery, clock }: Settings) {
  // It takes a sixth of the start-up time.
  const encodeStream = lazily(async () => (await import("./yoga.ts")).encodeStream);
  /** The responses of subscriptions, with functions that end them. */
  const open = new Map<ServerResponse, () => void>();
  let isDraining = false;

  /** Ends a stream without `complete`, so that its client subscribes again elsewhere. Who does not read the end is disconnected. */
  const cut = (response: ServerResponse, end: () => void): void => {
    end();
    onceOver(
      response,
      clock.after(CLOSING_MS, () => response.req.socket.destroy()),
    );
  };

  return {
    /** Writes messages, or a single result. Ends their source when nobody reads on. */
    write: async (
      response: ServerResponse,
      result: object,
      { type, status, lasts }: Stream,
      { requestId, caller }: RequestScope,
    ): Promise<void> => {
      const { body: plain, contentType } = await encodeStream(result, type);
      let isEnded = false;
      const end = () => {
        isEnded = true;
        plain.cancel().catch(() => {});
      };
      async function* read(): AsyncGenerator<Uint8Array> {
        try {
          yield* plain;
        } catch (error) {
          // What is ended early says so.
          if (!isEnded) throw error;
        }
      }
      onceOver(response, end);
      if (lasts) open.set(response, end);
      // A stream may have been admitted before the gateway began to drain.
      if (lasts && isDraining) cut(response, end);
      const isEvents = type === "text/event-stream";
      const isCompressed = !isEvents && acceptsGzip(response.req.headers["accept-encoding"]);
      const headers = {
        "content-type": contentType,
        // Proxies that compress would hold events back.
        "cache-control": isEvents ? `${PRIVATE}, no-transform` : PRIVATE,
        "x-accel-buffering": "no",
        "x-request-id": requestId,
        // A proxy that kept the connection might send a request on it while this process ends it together with the stream.
        ...(isEvents ? { connection: "close" } : { vary: "accept-encoding" }),
        ...(isCompressed && { "content-encoding": "gzip" }),
      };
      const body = isCompressed ? compressEach(read()) : read();
      try {
        await delivery.stream(response, { status, headers, body }, caller);
      } finally {
        open.delete(response);
        end();
      }
    },
    /** Ends all subscriptions for good. */
    drain: (): void => {
      isDraining = true;
      for (const [response, end] of open) cut(response, end);
    },
  };
}

export type Streams = ReturnType<typeof createStreams>;
