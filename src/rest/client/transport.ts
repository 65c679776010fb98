import type { Readable } from "node:stream";
import { Agent } from "undici";
import { createCollector, decodeBody, encodingsOf } from "./body.ts";
import { type Connector, targetOf } from "./connector.ts";
import type { RequestScope } from "../../request-scope.ts";

export interface TransportSettings {
  /** `{base_url}` of the service. */
  readonly upstreamUrl: URL;
  readonly connect: Connector;
  /** Connections for whole responses. Streams open one each. */
  readonly connections: number;
  /** How long a connection may take to open, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** How long the service may take to begin its response, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** How long a whole response may take in all, in milliseconds. Streams have no such end. */
  readonly exchangeTimeoutMs: number;
  /** How long the service may be silent within a response, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Longest whole response, in bytes after decompression. */
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
  /** The body as it comes, decompressed. Whoever is given it reads it to its end or destroys it. */
  readonly stream: Readable;
  /** Headers that describe the bytes and parts of them; none when the stream is decompressed. */
  readonly bodyHeaders: Readonly<Record<string, string>>;
  /** Whether the body is empty because a web server in front was to send a file in its place. */
  readonly isHandedOver: boolean;
}

/** Why there is no response. `wasSent` tells whether the service can have seen the request. */
export class TransportError extends Error {
  readonly wasSent: boolean;

  constructor(cause: unknown, wasSent: boolean) {
    super("no response", { cause });
    this.wasSent = wasSent;
  }
}

/** The service let a time-out pass. */
export class TimedOut extends Error {}

/** Longest error body that is read: enough for any message, far less than an HTML page may be. */
export const MAX_ERROR_BYTES = 64 * 1024;

export interface Transport {
  /** Reads a whole response; `onBytes` counts what is held of it and may refuse it. Rejects with `TransportError`, at the latest at the deadline or at the end of the scope. */
  readonly whole: (
    request: WireRequest,
    scope: RequestScope,
    onBytes: (count: number) => void,
  ) => Promise<WholeResponse>;
  /** Opens a connection and closes it: rejects with the reason when it cannot be opened. Nothing is sent. */
  readonly reach: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Reads whole responses over kept connections. By `dispatch`, with a handler that never pauses: undici 7 ends the
 * process when the connection of a paused response ends (nodejs/undici#5360), and answers from gunicorn end so.
 */
export function createTransport(settings: TransportSettings): Transport {
  const { upstreamUrl, connect, maxJsonBytes, exchangeTimeoutMs } = settings;
  const agent = new Agent({
    connections: settings.connections,
    connect,
    headersTimeout: settings.headersTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
  });

  const whole: Transport["whole"] = ({ method, path, headers, body, wantsBody }, scope, onBytes) =>
    new Promise((resolve, reject) => {
      let isSettled = false;
      /** Set when the request goes out. */
      let abort: (() => void) | null = null;
      let head: ResponseHead | null = null;
      let encoding: string | null = null;
      let collector = createCollector(0);
      let rest: NodeJS.Timeout | undefined;

      // Whatever undici does with a response, it settles once, and its place is free then.
      const settle = (): boolean => {
        if (isSettled) return false;
        isSettled = true;
        clearTimeout(timer);
        forget();
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
      const timer = setTimeout(() => fail(new TimedOut()), exchangeTimeoutMs);
      const forget = scope.onEnd(() => fail(new TimedOut()));

      agent.dispatch(
        { method, path, headers, body, origin: upstreamUrl.origin },
        {
          onConnect: (abortRequest) => {
            abort = abortRequest;
            if (isSettled) abortRequest();
          },
          onHeaders: (status, rawHeaders) => {
            // Informational: the response is still to come.
            if (status < 200) return true;
            head = headOf(status, (name) => headerOf(rawHeaders, name));
            encoding = headerOf(rawHeaders, "content-encoding");
            const isWanted = wantsBody && status < 300;
            collector = createCollector(isWanted ? maxJsonBytes : MAX_ERROR_BYTES);
            if (!wantsBody && status < 300) {
              succeed({ ...head, body: NO_BODY });
              rest = setTimeout(() => abort?.(), UNWANTED_MS);
            }
            return true;
          },
          onData: (piece) => {
            try {
              collector.add(piece);
              onBytes(piece.length);
            } catch (fault) {
              if (head && head.status >= 300) succeed({ ...head, body: NO_BODY });
              fail(fault);
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
      connect(targetOf(upstreamUrl), (fault, socket) => {
        if (fault) return reject(fault);
        socket.destroy();
        resolve();
      });
    });

  return { whole, reach, close: () => agent.close() };
}

const NO_BODY = Buffer.alloc(0);

/** How long the body of a response may last that nobody wants, in milliseconds: its connection is taken until then. */
const UNWANTED_MS = 1_000;

async function decode(
  head: ResponseHead,
  encoding: string,
  body: Buffer,
  maxBytes: number,
): Promise<WholeResponse> {
  if (head.status < 300) return { ...head, body: await decodeBody(body, encodingsOf(encoding), maxBytes) };
  // The status of an error counts whether or not its words can be read.
  const words = async () => decodeBody(body, encodingsOf(encoding), MAX_ERROR_BYTES);
  return { ...head, body: await words().catch(() => NO_BODY) };
}

export const headOf = (status: number, header: (name: string) => string | null): ResponseHead => ({
  status,
  contentType: header("content-type"),
  retryAfter: header("retry-after"),
});

/** The first header of a name in undici's list of names and values; null when there is none. */
function headerOf(rawHeaders: readonly Buffer[], name: string): string | null {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toString("latin1").toLowerCase() === name) {
      return rawHeaders[index + 1]?.toString("latin1") ?? null;
    }
  }
  return null;
}
