import type { Readable } from "node:stream";
import { Agent } from "undici";
import { createCollector, decodeBody, encodingsOf } from "./body.ts";
import { type Connector, targetOf } from "./connector.ts";
import type { RequestScope } from "../../request-scope.ts";

export interface TransportSettings {
  /** `{base_url}` of the service. */
  readonly upstreamUrl: URL;
  readonly connect: Connector;
  /** Maximum connections for whole responses. Each stream opens another one. */
  readonly connections: number;
  /** Connect timeout in milliseconds. */
  readonly connectTimeoutMs: number;
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
  /** Path and query as they go over the wire. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Whether the body of a response that is no error is read. Else the response is whole with its head. */
  readonly wantsBody: boolean;
}

/** The parts of a response's head that matter here. */
export interface ResponseHead {
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
}

export interface WholeResponse extends ResponseHead {
  readonly body: Buffer;
}

export interface StreamedResponse extends ResponseHead {
  /** The decompressed body. The receiver must read it to its end or destroy it. */
  readonly stream: Readable;
  /** Length, range and validator headers; empty when the stream is decompressed. */
  readonly bodyHeaders: Readonly<Record<string, string>>;
  /** Whether the body is empty because a web server in front should send a file instead. */
  readonly isHandedOver: boolean;
}

/** A request without a response. `wasSent` tells whether the service may have received it. */
export class TransportError extends Error {
  readonly wasSent: boolean;

  constructor(cause: unknown, wasSent: boolean) {
    super("no response", { cause });
    this.wasSent = wasSent;
  }
}

/** A timeout of the gateway, or the end of the scope. */
export class TimedOut extends Error {}

/** Maximum bytes of an error body: enough for any message. */
export const MAX_ERROR_BYTES = 64 * 1024;

export interface Transport {
  /**
   * Reads a whole response. `onBytes` receives the number of bytes held and may throw. Rejects with `TransportError`, at
   * the latest on a timeout or at the end of the scope.
   */
  readonly whole: (
    request: WireRequest,
    scope: RequestScope,
    onBytes: (count: number) => void,
  ) => Promise<WholeResponse>;
  /** Opens and closes a connection without sending anything. Rejects when that fails. */
  readonly reach: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Creates the transport for whole responses, with keep-alive. Uses `dispatch` with a handler that never pauses: undici 7
 * crashes the process when the connection of a paused response closes (nodejs/undici#5360), as gunicorn's do.
 */
export function createTransport(settings: TransportSettings): Transport {
  const { upstreamUrl, connect, maxJsonBytes, responseTimeoutMs } = settings;
  const agent = new Agent({
    connections: settings.connections,
    connect,
    headersTimeout: settings.headersTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
  });

  const whole: Transport["whole"] = ({ method, path, headers, body, wantsBody }, scope, onBytes) =>
    new Promise((resolve, reject) => {
      let isSettled = false;
      /** Set when the request is sent. */
      let abort: (() => void) | null = null;
      let head: ResponseHead | null = null;
      let encoding: string | null = null;
      let collector = createCollector(0);
      let rest: NodeJS.Timeout | undefined;

      // The promise settles once, whichever callbacks undici calls.
      const settle = (): boolean => {
        if (isSettled) return false;
        isSettled = true;
        clearTimeout(timer);
        removeListener();
        return true;
      };
      const succeed = (response: WholeResponse) => {
        if (settle()) resolve(response);
      };
      const fail = (cause: unknown) => {
        if (!settle()) return;
        reject(new TransportError(cause, abort !== null));
        abort?.();
      };
      const timer = setTimeout(() => fail(new TimedOut()), responseTimeoutMs);
      const removeListener = scope.onEnd(() => fail(new TimedOut()));

      agent.dispatch(
        { method, path, headers, body, origin: upstreamUrl.origin },
        {
          onConnect: (abortRequest) => {
            abort = abortRequest;
            if (isSettled) abortRequest();
          },
          onHeaders: (status, rawHeaders) => {
            // Informational: the final response follows.
            if (status < 200) return true;
            head = headOf(status, (name) => headerOf(rawHeaders, name));
            encoding = headerOf(rawHeaders, "content-encoding");
            const isWanted = wantsBody && status < 300;
            collector = createCollector(isWanted ? maxJsonBytes : MAX_ERROR_BYTES);
            if (!wantsBody && status < 300) {
              succeed({ ...head, body: NO_BODY });
              rest = setTimeout(() => abort?.(), IGNORED_BODY_MS);
            }
            return true;
          },
          onData: (chunk) => {
            try {
              collector.add(chunk);
              onBytes(chunk.length);
            } catch (error) {
              if (head && head.status >= 300) succeed({ ...head, body: NO_BODY });
              fail(error);
              abort?.();
            }
            return true;
          },
          onComplete: () => {
            clearTimeout(rest);
            if (!head) return fail(new TypeError("a response without a head"));
            const received = collector.body();
            if (!encoding) return succeed({ ...head, body: received });
            void decode(head, encoding, received, maxJsonBytes)
              .then((response) => {
                onBytes(response.body.length);
                return response;
              })
              .then(succeed, fail);
          },
          onError: (cause) => {
            clearTimeout(rest);
            fail(cause);
          },
        },
      );
    });

  const reach = () =>
    new Promise<void>((resolve, reject) => {
      connect(targetOf(upstreamUrl), (error, socket) => {
        if (error) return reject(error);
        socket.destroy();
        resolve();
      });
    });

  return { whole, reach, close: () => agent.close() };
}

const NO_BODY = Buffer.alloc(0);

/** How long an ignored body may occupy its connection, in milliseconds. */
const IGNORED_BODY_MS = 1_000;

async function decode(
  head: ResponseHead,
  encoding: string,
  body: Buffer,
  maxBytes: number,
): Promise<WholeResponse> {
  if (head.status < 300) return { ...head, body: await decodeBody(body, encodingsOf(encoding), maxBytes) };
  // The status of an error is used even when its body cannot be decoded.
  const decoded = async () => decodeBody(body, encodingsOf(encoding), MAX_ERROR_BYTES);
  return { ...head, body: await decoded().catch(() => NO_BODY) };
}

export const headOf = (status: number, header: (name: string) => string | null): ResponseHead => ({
  status,
  contentType: header("content-type"),
  retryAfter: header("retry-after"),
});

/** Finds a header in undici's flat list of names and values. Returns null without one. */
function headerOf(rawHeaders: readonly Buffer[], name: string): string | null {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toString("latin1").toLowerCase() === name) {
      return rawHeaders[index + 1]?.toString("latin1") ?? null;
    }
  }
  return null;
}
