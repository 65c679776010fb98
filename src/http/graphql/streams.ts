import type { ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import type { RequestScope } from "../../request-scope.ts";
import { acceptsGzip, compressEach } from "../compression.ts";
import { onceOver } from "../connection.ts";
import type { Delivery } from "../delivery.ts";
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

/** How long an event stream is quiet before a comment shows that it is alive, in milliseconds. */
const PING_MS = 12_000;
const COMMENT = ":\n\n";

/** How messages stand in a body: each with what begins and ends it. */
const FRAMES = {
  // It begins with a comment, because some browsers show no headers before the first bytes.
  "text/event-stream": {
    head: COMMENT,
    of: (json: string) => `event: next\ndata: ${json}\n\n`,
    end: "event: complete\ndata:\n\n",
  },
  "multipart/mixed": {
    head: "\r\n---",
    of: (json: string) =>
      `\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}\r\n---`,
    end: "--\r\n",
  },
};

/** Writes messages as they come: the events of subscriptions, and results in pieces. */
export function createStreams({ delivery, clock }: Settings) {
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

  /** Writes a comment again and again, never within a message, which takes all that may wait. Returns what ends it. */
  const keepAlive = (response: ServerResponse): (() => void) => {
    const write = (): void => {
      if (response.headersSent && !response.writableNeedDrain) response.write(COMMENT);
      cancel = clock.after(PING_MS, write);
    };
    let cancel = clock.after(PING_MS, write);
    return () => cancel();
  };

  return {
    /** Writes messages, or a single result. Ends their source when nobody reads on. */
    write: async (
      response: ServerResponse,
      result: object,
      { type, status, lasts }: Stream,
      { requestId, caller }: RequestScope,
    ): Promise<void> => {
      const messages = isMessages(result) ? result : null;
      let isEnded = false;
      const end = () => {
        isEnded = true;
        void messages?.return?.();
      };
      onceOver(response, end);
      if (lasts) open.set(response, end);
      // A stream may have been admitted before the gateway began to drain.
      if (lasts && isDraining) cut(response, end);
      const isEvents = type === "text/event-stream";
      const isCompressed = !isEvents && acceptsGzip(response.req.headers["accept-encoding"]);
      const { head, of, end: last } = FRAMES[type];
      async function* frames(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(head);
        for await (const message of messages ?? [result]) {
          if (isEnded) return;
          yield Buffer.from(of(JSON.stringify(message)));
        }
        if (!isEnded) yield Buffer.from(last);
      }
      const headers = {
        "content-type": isEvents ? type : `${type}; boundary="-"`,
        // Proxies that compress would hold events back.
        "cache-control": isEvents ? `${PRIVATE}, no-transform` : PRIVATE,
        "x-accel-buffering": "no",
        "x-request-id": requestId,
        // A proxy that kept the connection might send a request on it while this process ends it together with the stream.
        ...(isEvents ? { connection: "close" } : { vary: "accept-encoding" }),
        ...(isCompressed && { "content-encoding": "gzip" }),
      };
      if (isEvents) onceOver(response, keepAlive(response));
      try {
        const body = isCompressed ? compressEach(frames()) : frames();
        await delivery.stream(response, { status, headers, body }, caller);
      } catch (error) {
        if (!isEnded) throw error;
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

type Messages = AsyncIterableIterator<object>;

const isMessages = (result: object): result is Messages => Symbol.asyncIterator in result;

export type Streams = ReturnType<typeof createStreams>;
