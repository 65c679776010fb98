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

/** After so many milliseconds without a message an event stream has a comment: proxies close what is silent. */
const PING_MS = 12_000;

/** How a form writes messages, what it begins and ends with, and what it writes while none comes. */
const FRAMES = {
  "text/event-stream": {
    contentType: "text/event-stream",
    // Some browsers do not see the head of a response before something of its body.
    begin: ":\n\n",
    frame: (json: string) => `event: next\ndata: ${json}\n\n`,
    end: "event: complete\ndata:\n\n",
    ping: ":\n\n",
  },
  "multipart/mixed": {
    contentType: 'multipart/mixed; boundary="-"',
    begin: "\r\n---",
    frame: (json: string) =>
      `\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}\r\n---`,
    end: "--\r\n",
    ping: "",
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

  return {
    /** Writes messages, each when those before are read. Ends their source when nobody reads on. */
    write: async (
      response: ServerResponse,
      messages: AsyncIterator<object>,
      { type, status, lasts }: Stream,
      { requestId, caller }: RequestScope,
    ): Promise<void> => {
      const { contentType, begin, frame, end: complete, ping } = FRAMES[type];
      let ended = false;
      const isEnded = () => ended;
      let wake: (() => void) | null = null;
      const end = () => {
        ended = true;
        void messages.return?.();
        wake?.();
      };
      async function* framed(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(begin);
        while (!isEnded()) {
          const coming = messages.next();
          let next: IteratorResult<object> | null = null;
          while (!next && !isEnded()) {
            const silence = new Promise<null>((resolve) => (wake = () => resolve(null)));
            const cancel = clock.after(PING_MS, () => wake?.());
            next = await Promise.race([coming, silence]).finally(cancel);
            if (!next && !isEnded()) yield Buffer.from(ping);
          }
          if (!next || isEnded()) return;
          if (next.done) return yield Buffer.from(complete);
          yield Buffer.from(frame(JSON.stringify(next.value)));
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
      try {
        const body = isCompressed ? compressEach(framed()) : framed();
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
