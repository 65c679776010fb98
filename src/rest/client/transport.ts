import type { Readable } from "node:stream";
import Pool from "undici/lib/dispatcher/pool.js";
import { GatewayError, StacklessError } from "../../errors.ts";
import { BoundedBuffer, EMPTY, IN_SHORT_CHUNKS } from "../../callers/bounded-buffer.ts";
import { decodeBody, decoderOf } from "./body.ts";
import { type Connector, targetOf } from "./connector.ts";
import type { Consumer } from "./upstream-call.ts";

export interface TransportSettings {
  /** The base URL of the service, which its document calls `{base_url}`. */
  readonly upstreamUrl: URL;
  readonly connect: Connector;
  /** Maximum connections for whole responses. Each stream opens an additional connection. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** Maximum age at which a connection accepts new requests, in milliseconds. Its successor resolves the address of the service again. */
  readonly connectionAgeMs: number;
  /** Maximum time until the response headers, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** Maximum total time of a whole response, in milliseconds. Does not apply to streams. */
  readonly responseTimeoutMs: number;
  /** Maximum time between two chunks of a response, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Maximum size of a whole response, in bytes after decompression. */
  readonly maxJsonBytes: number;
}

export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Whether the body of a successful response is read. Otherwise the response is complete after its headers. */
  readonly wantsBody: boolean;
}

/** The status of a response and the headers that the gateway uses. */
export interface ResponseHead {
  readonly status: number;
  readonly contentType: string | null;
  readonly encoding: string | null;
  readonly retryAfter: string | null;
  readonly date: string | null;
  /** When the head arrived, in milliseconds since 1970. */
  readonly receivedAt: number;
}

export interface WholeResponse extends ResponseHead {
  readonly body: Buffer;
}

export interface StreamedResponse extends ResponseHead {
  /** The decompressed body. The receiver must read it to its end or destroy it. */
  readonly stream: Readable;
  /** Length, range and validator headers; empty when the stream is decompressed. */
  readonly bodyHeaders: Readonly<Record<string, string>>;
  /** Whether the body is empty because a web server in front of the service should have sent a file in its place. */
  readonly isHandedOver: boolean;
  /** Lets the stream outlive its scope. */
  readonly keep: () => void;
}

/** The error of a request that got no response. `wasSent`: whether the service may have received the request. */
export class TransportError extends StacklessError {
  readonly wasSent: boolean;

  constructor(cause: unknown, wasSent: boolean) {
    super("no response", cause);
    this.wasSent = wasSent;
  }
}

/** A timeout set by the gateway, or the end of all consumers. */
export class TimeoutError extends StacklessError {}

/** Maximum bytes of an error body, enough for any message. */
export const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Creates the transport for whole responses, with keep-alive. Its handler for undici's `dispatch` never pauses a response, because undici 7
 * crashes the process when the connection of a paused response closes (nodejs/undici#5360). Gunicorn closes connections early.
 */
export function createTransport(settings: TransportSettings) {
  const { upstreamUrl, connect, maxJsonBytes, responseTimeoutMs } = settings;
  const openPool = () =>
    new Pool(upstreamUrl.origin, {
      connections: settings.connections,
      connect,
      headersTimeout: settings.headersTimeoutMs,
      bodyTimeout: settings.idleTimeoutMs,
    });
  let [pool, openedAt] = [openPool(), Date.now()];
  let retired: Pool | null = null;

  /** The current pool, replaced by a new one when it is too old. Requests in flight finish in the old pool. */
  const currentPool = (): Pool => {
    if (Date.now() - openedAt < settings.connectionAgeMs) return pool;
    retired = pool;
    retired.close().catch(() => {});
    [pool, openedAt] = [openPool(), Date.now()];
    return pool;
  };

  return {
    /** Sends a request and reads its response. Calls back exactly once, at the latest after the timeout or when no consumer is left. */
    send: (request: WireRequest, consumer: Consumer, done: Done): void => {
      const maxBytes = request.wantsBody ? maxJsonBytes : null;
      currentPool().dispatch(request, new ResponseHandler(consumer, done, maxBytes, responseTimeoutMs));
    },
    /** Opens and closes a connection without sending anything. Rejects if no connection can be opened. */
    reach: () =>
      new Promise<void>((resolve, reject) => {
        connect(targetOf(upstreamUrl), (error, socket) => {
          if (error) return reject(error);
          socket.destroy();
          resolve();
        });
      }),
    close: async (): Promise<void> => {
      await Promise.all([pool.destroy(), retired?.destroy()]);
    },
  };
}

type Done = (
  ...result: [failure: TransportError, response: null] | [failure: null, response: WholeResponse]
) => void;

/** Whether a response is declared to be HTML, as sign-in pages and errors of proxies are. */
export const isHtml = ({ contentType }: ResponseHead): boolean =>
  contentType?.toLowerCase().startsWith("text/html") ?? false;

/** Whether a response lacks a Content-Type, so that only its body shows whether it is HTML. */
export const hasNoType = ({ contentType }: ResponseHead): boolean => !contentType?.trim();

/** Collects a response. Settles exactly once, although undici may call several of its methods at the end. */
class ResponseHandler {
  readonly #consumer: Consumer;
  readonly #done: Done;
  /** Maximum bytes of the body after decompression. If null, only the bodies of errors and possible HTML pages are read. */
  readonly #maxBytes: number | null;
  readonly #onEnd = (): void => this.#fail(new TimeoutError());
  #timer: NodeJS.Timeout;
  #isSettled = false;
  #informational = 0;
  /** Aborts the request; null until the request is sent. */
  #abort: (() => void) | null = null;
  #head: ResponseHead | null = null;
  #body: BoundedBuffer | null = null;
  /** Whether the body is read only up to its first character that is not white space, which shows whether it is HTML. */
  #isStartEnough = false;

  constructor(consumer: Consumer, done: Done, maxBytes: number | null, timeoutMs: number) {
    this.#consumer = consumer;
    this.#done = done;
    this.#maxBytes = maxBytes;
    this.#timer = setTimeout(this.#onEnd, timeoutMs);
    consumer.lifetime.onEnd(this.#onEnd);
  }

  onConnect(abort: () => void): void {
    this.#abort = abort;
    if (this.#isSettled) abort();
  }

  onHeaders(status: number, rawHeaders: readonly Buffer[]): boolean {
    // Informational responses (1xx) precede the final one.
    if (status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) this.#fail(TOO_MANY_INFORMATIONAL);
      return true;
    }
    this.#head = headOf(status, rawHeaders);
    if (status < 300 && this.#maxBytes !== null)
      this.#body = new BoundedBuffer(this.#maxBytes, this.#consumer);
    else if (status >= 300 || isHtml(this.#head) || hasNoType(this.#head)) {
      this.#body = new BoundedBuffer(MAX_ERROR_BYTES, this.#consumer);
      this.#isStartEnough = status < 300 && hasNoType(this.#head) && decoderOf(this.#head.encoding) === null;
    } else this.#succeedWith(this.#head, EMPTY);
    return true;
  }

  /** Succeeds before the body has ended. The rest is still received, so that the connection can be reused. */
  #succeedWith(head: ResponseHead, body: Buffer): void {
    this.#succeed({ body, ...head });
    this.#body = new BoundedBuffer(MAX_ERROR_BYTES, this.#consumer);
    this.#timer = setTimeout(() => this.#abort?.(), IGNORED_BODY_MS);
  }

  onData(chunk: Buffer): boolean {
    // `trim` also removes a byte order mark.
    if (this.#head && this.#isStartEnough && chunk.toString().trim() !== "") {
      this.#isStartEnough = false;
      this.#succeedWith(this.#head, chunk);
    }
    try {
      this.#body?.add(chunk);
      if (this.#body?.isInShortChunks()) throw SHORT_CHUNKS;
    } catch (error) {
      if (this.#head && this.#head.status >= 300) this.#succeed({ body: EMPTY, ...this.#head });
      this.#fail(error);
      this.#abort?.();
    }
    return true;
  }

  onComplete(): void {
    const head = this.#head;
    if (!head || !this.#body) return this.#fail(new TypeError("a response without a head"));
    const body = this.#body.bytes();
    if (!head.encoding) return this.#succeed({ body, ...head });
    void this.#decode(head, head.encoding, body);
  }

  onError(cause: Error): void {
    this.#fail(cause);
  }

  async #decode(head: ResponseHead, encoding: string, body: Buffer): Promise<void> {
    try {
      const isError = head.status >= 300;
      const limit = isError ? MAX_ERROR_BYTES : (this.#maxBytes ?? MAX_ERROR_BYTES);
      const decoding = decodeBody(body, encoding, limit, this.#consumer);
      // The status of an error is used even when its body cannot be decoded.
      const decoded = await (isError ? decoding.catch(() => EMPTY) : decoding);
      this.#succeed({ body: decoded, ...head });
    } catch (error) {
      this.#fail(error);
    }
  }

  #succeed(response: WholeResponse): void {
    if (this.#settle()) this.#done(null, response);
  }

  #fail(cause: unknown): void {
    if (!this.#settle()) return;
    const abort = this.#abort;
    this.#done(new TransportError(cause, abort !== null), null);
    abort?.();
  }

  #settle(): boolean {
    clearTimeout(this.#timer);
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#consumer.lifetime.offEnd(this.#onEnd);
    return true;
  }
}

const SHORT_CHUNKS = new GatewayError(
  "UPSTREAM_BAD_RESPONSE",
  `The service's response is ${IN_SHORT_CHUNKS}.`,
);

/** A service could send informational responses (1xx) without an end. Go's client accepts five, curl any number. */
export const MAX_INFORMATIONAL = 20;

export const TOO_MANY_INFORMATIONAL = new GatewayError(
  "UPSTREAM_BAD_RESPONSE",
  `The service sent more than ${MAX_INFORMATIONAL} informational responses before its response.`,
);

/** How long an ignored body may occupy its connection, in milliseconds. */
const IGNORED_BODY_MS = 1_000;

/** The headers that the gateway uses, and their names in `ResponseHead`. */
const HEAD_FIELDS: ReadonlyMap<string, keyof Omit<ResponseHead, "status" | "receivedAt">> = new Map([
  ["content-type", "contentType"],
  ["content-encoding", "encoding"],
  ["retry-after", "retryAfter"],
  ["date", "date"],
]);
const LENGTHS = new Set([...HEAD_FIELDS.keys()].map(({ length }) => length));

/** Extracts the head of a response from alternating names and values. Skips unused headers, because parsing all of them is slow. */
export function headOf(status: number, raw: readonly (string | Buffer)[]): ResponseHead {
  const head = {
    status,
    contentType: null,
    encoding: null,
    retryAfter: null,
    date: null,
    receivedAt: Date.now(),
  } as {
    -readonly [Field in keyof ResponseHead]: ResponseHead[Field];
  };
  for (let at = 1; at < raw.length; at += 2) {
    const name = raw[at - 1] ?? "";
    const field = LENGTHS.has(name.length) && HEAD_FIELDS.get(String(name).toLowerCase());
    if (field) head[field] = head[field] === null ? String(raw[at]) : `${head[field]},${String(raw[at])}`;
  }
  return head;
}
