import type { IncomingMessage, ServerResponse } from "node:http";
import type { Engine, Operation } from "../../engine/engine.ts";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import type { OpenStream, Results } from "../../engine/subscription.ts";
import type { Clock } from "../../clock.ts";
import type { RequestScope } from "../../request-scope.ts";
import { onceOver } from "../connection.ts";
import type { Delivery } from "../delivery.ts";
import { parseBody, parseQueryString, encodeResult, PRIVATE } from "./encoding.ts";

/*
 * Subscriptions as server-sent events, in the distinct connections mode of the GraphQL-over-SSE protocol. Own code:
 * Yoga's codec has a fixed interval of comments and two web streams for each subscriber, which take more memory than
 * everything else of a subscription.
 */

interface Settings {
  readonly engine: Engine;
  readonly delivery: Delivery;
  readonly clock: Clock;
}

/** A request for a subscription. */
interface StreamRequest {
  readonly params: OperationParams;
  readonly operation: Operation;
  readonly openStream: () => OpenStream;
  readonly onResult: (status: number) => void;
}

/** How often an idle stream gets a comment, in milliseconds, so that proxies and clients keep it open. */
const COMMENT_INTERVAL_MS = 10_000;

/** How long a client may take to read the end of its stream, in milliseconds. */
const CLOSING_MS = 1_000;

const COMMENT = Buffer.from(":\n\n");

/** A result as an event. */
export const eventOf = (json: string): string => `event: next\ndata: ${json}\n\n`;

/** The last event of a stream. */
export const COMPLETE = "event: complete\ndata:\n\n";

export function createEventStreams({ engine, delivery, clock }: Settings) {
  /** The responses that are open streams, with functions that end them. */
  const open = new Map<ServerResponse, () => void>();
  let isDraining = false;

  /** Ends a stream. Whoever does not read is disconnected. */
  const close = (response: ServerResponse, end: () => void): void => {
    end();
    const cancel = clock.after(CLOSING_MS, () => response.req.socket.destroy());
    onceOver(response, cancel);
  };

  const write = async (
    response: ServerResponse,
    results: Results,
    { scope: { requestId, caller } }: Operation,
  ): Promise<void> => {
    let isCut = false;
    const end = () => {
      isCut = true;
      void results.return();
    };
    open.set(response, end);
    onceOver(response, end);
    // A stream may have been admitted before the gateway began to drain.
    if (isDraining) close(response, end);
    async function* frames(): AsyncGenerator<Buffer> {
      for await (const result of results)
        yield Buffer.from(
          eventOf(encodeResult(engine.finish(result, requestId), "application/json", requestId).body),
        );
      // Without `complete`, clients subscribe again elsewhere.
      if (!isCut) yield Buffer.from(COMPLETE);
    }
    const body = withComments(frames(), clock);
    await delivery.stream(response, { status: 200, headers: headersOf(requestId), body }, caller);
    open.delete(response);
    await results.return();
  };

  return {
    /** The parameters of a request for a subscription; null when it is none. */
    paramsOf: async (
      request: IncomingMessage,
      body: Buffer | null,
      scope: RequestScope,
    ): Promise<OperationParams | null> => {
      const params = readParams(request, body);
      return params && (await engine.typeOf(params, scope)) === "subscription" ? params : null;
    },
    serve: async (
      response: ServerResponse,
      { params, operation, openStream, onResult }: StreamRequest,
    ): Promise<void> => {
      const { facts, scope } = operation;
      const { requestId, caller } = scope;
      const opened = await engine.subscribe({ scope, params, facts, openStream });
      scope.end("done");
      if ("results" in opened) {
        onResult(200);
        await write(response, opened.results, operation);
        return;
      }
      const type = "application/graphql-response+json";
      const result = encodeResult(engine.finish(opened, requestId), type, requestId);
      // Clients of event streams try again after these statuses; other errors are for their readers.
      const isBusy = result.status === 429 || result.status === 503;
      const status = isBusy ? result.status : 200;
      onResult(status);
      const text = eventOf(result.body) + COMPLETE;
      await delivery.send(response, { status, headers: headersOf(requestId), body: text }, caller);
    },
    /** Ends all streams for good, so that clients subscribe again elsewhere. */
    drain: (): void => {
      isDraining = true;
      for (const [response, end] of open) close(response, end);
    },
  };
}

/** The parameters of a request; null when they cannot be read, which the handler of single results reports. */
export function readParams(
  { method, url = "" }: IncomingMessage,
  body: Buffer | null,
): OperationParams | null {
  try {
    if (body) return parseBody(body);
    return method === "GET" ? parseQueryString(url.split("?")[1] ?? "") : null;
  } catch {
    return null;
  }
}

/** The headers of an event stream. */
export const headersOf = (requestId: string) => ({
  "content-type": "text/event-stream; charset=utf-8",
  // Proxies that compress would hold events back.
  "cache-control": `${PRIVATE}, no-transform`,
  "x-accel-buffering": "no",
  // A proxy that kept the connection might send a request on it while this process ends it together with the stream.
  connection: "close",
  "x-request-id": requestId,
});

/**
 * Adds a comment at the beginning, which makes browsers show the response, and wherever nothing comes for a while. Each
 * frame is awaited once, however long it takes: `Promise.race` in a loop would keep its promises.
 */
async function* withComments(frames: AsyncGenerator<Buffer>, clock: Clock): AsyncGenerator<Buffer> {
  yield COMMENT;
  for (;;) {
    const next = { isHere: false, wake: () => {} };
    const frame = frames.next().finally(() => {
      next.isHere = true;
      next.wake();
    });
    frame.catch(() => {});
    while (!next.isHere) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(COMMENT_INTERVAL_MS, resolve);
        next.wake = () => {
          cancel();
          resolve();
        };
      });
      if (!next.isHere) yield COMMENT;
    }
    const { done, value } = await frame;
    if (done) return;
    yield value;
  }
}
