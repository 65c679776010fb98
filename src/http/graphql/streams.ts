import type { ServerResponse } from "node:http";
import type { RequestScope } from "../../callers/request-scope.ts";
import { acceptsGzip, compressEach, type CountBuffered } from "../response-writer.ts";
import { onceClosed } from "../connections.ts";
import type { Clock } from "../../util/clock.ts";
import type { GatewayDependencies } from "../dependencies.ts";
import { lazy } from "../lazy.ts";
import { CACHE_CONTROL_PRIVATE } from "./encoding.ts";
import type { StreamForm } from "./content-negotiation.ts";
import { DONE, mapAsyncIterator } from "../../util/async-iterators.ts";

interface Stream {
  readonly type: StreamForm["type"];
  readonly status: number;
  /** Whether a drain must end the stream, because it may not end by itself. */
  readonly lasts: boolean;
  /** Called once when the first message is encoded, or when there will be no message. The memory of the result stays charged until then. */
  readonly onEncoded?: () => void;
}

/** Memory of a gzip stream, in bytes. */
const GZIP_BYTES = 270_000;

/** How long a client may take to read the end of its stream, in milliseconds. */
const CLOSING_MS = 1_000;

/**
 * Loads Yoga on first use, because loading takes a sixth of the start-up time. Yoga only encodes messages: the engine executes the
 * operation.
 */
async function openYoga() {
  const { createYoga } = await import("graphql-yoga");
  return createYoga<{ readonly result: object }>({
    landingPage: false,
    graphiql: false,
    cors: false,
    logging: false,
    maskedErrors: false,
    parserAndValidationCache: false,
    plugins: [
      {
        onRequestParse: ({ setRequestParser }) => setRequestParser(() => ({ query: "" })),
        // Safe: the context is the one that is passed to `fetch` below. Yoga encodes its `result` unchanged.
        onParams: ({ setParamsHandler, context }) =>
          setParamsHandler(() => (context as unknown as { readonly result: never }).result),
      },
    ],
  });
}

/** Writes messages as they arrive: the events of subscriptions, and incremental results. */
export function createStreams({ responseWriter, clock, scheduler }: GatewayDependencies) {
  const loadYoga = lazy(openYoga);
  /** The responses of subscriptions, with functions that end them. */
  const open = new Map<ServerResponse, () => void>();
  let isDraining = false;

  /**
   * Ends a stream without `complete`, so that the client subscribes again at another replica. Disconnects a client that does not read the
   * end.
   */
  const cut = (response: ServerResponse, end: () => void): void => {
    end();
    const cancel = clock.after(CLOSING_MS, () => response.req.socket.destroy());
    onceClosed(response, cancel);
  };

  return {
    /** Writes messages to a response, and ends their source when the client disconnects. */
    write: async (
      response: ServerResponse,
      messages: Messages,
      { type, status, lasts, onEncoded }: Stream,
      { requestId, caller }: RequestScope,
    ): Promise<void> => {
      const count = responseWriter.openResponseAccount(response, caller);
      const isEvents = type === "text/event-stream";
      const isLive = lasts || isEvents;
      const inParts = isLive && !isEvents;
      const sent = inParts ? withHeartbeats(messages, clock) : messages;
      const inSlice: RunInSlice = (work) =>
        new Promise((resolve) => scheduler.run(caller, () => resolve(work())));
      const throttled = withBackpressure(sent, count, inSlice, onEncoded);
      let isEnded = false;
      let plain: Response["body"] = null;
      const end = () => {
        isEnded = true;
        // Yoga calls `return` only if it has begun to read the messages.
        void throttled.messages.return?.();
        plain?.cancel().catch(() => {});
      };
      onceClosed(response, end);
      if (lasts) open.set(response, end);
      // A stream may have been admitted before the gateway began to drain.
      if (lasts && isDraining) cut(response, end);
      const isCompressed = !isLive && acceptsGzip(response.req.headers["accept-encoding"]);
      if (isCompressed) count(GZIP_BYTES);
      try {
        const yoga = await loadYoga();
        const encoded = await yoga.fetch(
          "http://gateway/graphql",
          { headers: { accept: type } },
          { result: throttled.messages },
        );
        plain = encoded.body;
        const headers = {
          "content-type": `${encoded.headers.get("content-type") ?? type}${inParts ? ";subscriptionSpec=1.0" : ""}`,
          // `no-transform` keeps proxies from compressing, because they would then buffer events.
          "cache-control": isLive ? `${CACHE_CONTROL_PRIVATE}, no-transform` : CACHE_CONTROL_PRIVATE,
          "x-accel-buffering": "no",
          "x-request-id": requestId,
          // The connection is not reused: a proxy might send a request on it just when this process closes it together with the stream.
          ...(isLive ? { connection: "close" } : { vary: "accept-encoding" }),
          ...(isCompressed && { "content-encoding": "gzip" }),
        };
        const bytes = bytesOf(plain, () => isEnded, throttled.take);
        const body = isCompressed ? compressEach(bytes) : bytes;
        await responseWriter.stream(response, { status, headers, body }, caller);
      } finally {
        open.delete(response);
        end();
      }
    },
    /** Ends all open subscriptions, and each later one as soon as it opens. */
    drain: (): void => {
      isDraining = true;
      for (const [response, end] of open) cut(response, end);
    },
  };
}

type Messages = AsyncIterableIterator<object>;

/** Runs work in a time slice of a caller. */
type RunInSlice = <Result>(work: () => Result) => Promise<Result>;

/** Time between two heartbeats of a multipart stream without events, in milliseconds. Yoga itself sends the heartbeats of event streams. */
const PART_HEARTBEAT_MS = 12_000;

/** The messages of a subscription in Apollo's protocol: `{ payload }` for each event, and `{}` as a heartbeat while there are no events. */
function withHeartbeats(messages: Messages, clock: Clock): Messages {
  let pending: Promise<IteratorResult<object>> | null = null;
  let [isReady, wake] = [false, (): void => {}];
  const onReady = (): void => {
    isReady = true;
    wake();
  };
  const isQuiet = () =>
    new Promise<boolean>((resolve) => {
      const cancel = clock.after(PART_HEARTBEAT_MS, () => resolve(true));
      wake = () => (cancel(), resolve(false));
    });
  const next = async (): Promise<IteratorResult<object>> => {
    // A race of promises would keep memory for each heartbeat until the next message.
    if (!pending) {
      pending = messages.next().finally(onReady);
      // The client may disconnect before the next message.
      pending.catch(() => {});
    }
    if (!isReady && (await isQuiet())) return { done: false, value: {} };
    const message = await pending;
    [pending, isReady] = [null, false];
    return message.done ? DONE : { done: false, value: { payload: message.value } };
  };
  return mapAsyncIterator({ next, return: async () => messages.return?.() as never }, (message) => message);
}

/**
 * Creates each message only when the earlier messages have been written. Without this, Yoga would read ahead, and the operation of a client
 * that does not read would end and release its permit too early. `count` counts the uncompressed bytes of messages. Messages are encoded in
 * time slices, so that an event with many subscribers does not block the event loop, and so that readers which disconnect between two
 * slices release their messages.
 */
function withBackpressure(source: Messages, count: CountBuffered, inSlice: RunInSlice, onEncoded = () => {}) {
  let isEncoded = false;
  const endEncoding = (): void => {
    if (!isEncoded) onEncoded();
    isEncoded = true;
  };
  /** Bytes of messages that were created but not written yet. */
  let waiting = 0;
  const add = (bytes: number): void => {
    waiting += bytes;
    count(bytes);
  };
  let wake: (() => void) | null = null;
  const next = async () => {
    if (waiting > 0) await new Promise<void>((resolve) => (wake = resolve));
    const message = await source.next();
    return message.done ? message : { done: false, value: await inSlice(() => encode(message.value)) };
  };
  const encode = (message: object) => {
    const text = JSON.stringify(message);
    add(Buffer.byteLength(text));
    endEncoding();
    // Yoga encodes a result by the result's own `stringify`.
    return { stringify: () => text };
  };
  const messages = mapAsyncIterator(
    { next, return: async () => source.return?.() as never },
    (message) => message,
    endEncoding,
  );
  /** Subtracts written bytes. They include frames and comments, so they may exceed the waiting bytes. */
  const take = (bytes: number): void => {
    add(-Math.min(waiting, bytes));
    if (waiting === 0) wake?.();
  };
  return { messages, take };
}

/**
 * The bytes of a stream until the stream is ended. Ignores an error after the end. This is not a generator, because a generator that waits
 * for the next event keeps the last event in memory.
 */
function bytesOf(body: Response["body"], isEnded: () => boolean, onTaken: (bytes: number) => void) {
  const source = isEnded() ? undefined : body?.[Symbol.asyncIterator]();
  let taken = 0;
  const iterator: AsyncIterableIterator<Uint8Array> = {
    next: async () => {
      if (taken > 0) onTaken(taken);
      taken = 0;
      try {
        const next = (await source?.next()) ?? DONE;
        if (next.done) return DONE;
        taken = next.value.length;
        return next;
      } catch (error) {
        if (!isEnded()) throw error;
        return DONE;
      }
    },
    return: async () => {
      await source?.return?.().catch(() => {});
      return DONE;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
