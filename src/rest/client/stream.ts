import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { urlToHttpOptions } from "node:url";
import { targetOf } from "./connector.ts";
import { decoderOf, decodeStream, UnsupportedResponseError } from "./body.ts";
import type { Lifetime } from "./upstream-call.ts";
import {
  headOf,
  MAX_INFORMATIONAL,
  type StreamedResponse,
  TimeoutError,
  TOO_MANY_INFORMATIONAL,
  TransportError,
  type TransportSettings,
  type WireRequest,
} from "./transport.ts";

/**
 * Opens a streamed response on its own connection. Uses `node:http`, which handles slow and disconnected readers; `createTransport`
 * explains why undici does not. The stream ends with its consumer unless `keep` is called. Rejects with `TransportError`.
 */
export function openResponse(
  settings: TransportSettings,
  { method, path, headers }: WireRequest,
  lifetime: Lifetime,
): Promise<StreamedResponse> {
  const { upstreamUrl, connect, connectTimeoutMs, headersTimeoutMs, idleTimeoutMs, responseTimeoutMs } =
    settings;
  const isSecure = upstreamUrl.protocol === "https:";
  return new Promise((resolve, reject) => {
    let wasSent = false;
    const request = (isSecure ? httpsRequest : httpRequest)({
      ...urlToHttpOptions(upstreamUrl),
      // Without an agent, Node.js assumes port 80 even for HTTPS, and would then write the port 443 into `Host`.
      defaultPort: isSecure ? 443 : 80,
      createConnection: (_, onSocket) => {
        connect(targetOf(upstreamUrl), (error, socket) => (error ? fail(error) : onSocket(null, socket)));
        return null;
      },
      method,
      path,
      headers,
    });
    let underWay: { readonly destroy: (cause: Error) => unknown } = request;
    const fail = (cause: Error): void => {
      clearTimeout(timer);
      reject(new TransportError(cause, wasSent));
      underWay.destroy(cause);
    };
    const failAfter = (ms: number) => setTimeout(() => fail(new TimeoutError()), ms);
    let timer = failAfter(connectTimeoutMs);
    const onLifetimeEnd = () => fail(new TimeoutError());
    lifetime.onEnd(onLifetimeEnd);

    request.once("socket", () => {
      wasSent = true;
      clearTimeout(timer);
      timer = failAfter(headersTimeoutMs);
    });
    request.on("error", fail);
    let informational = 0;
    request.on("information", () => {
      if (++informational > MAX_INFORMATIONAL) fail(TOO_MANY_INFORMATIONAL);
    });
    request.once("close", () => lifetime.offEnd(onLifetimeEnd));
    request.once("upgrade", (_response, socket) => {
      // Without a listener, an error of the upgraded socket would end the process.
      socket.on("error", () => {});
      underWay = socket;
      fail(new UnsupportedResponseError());
    });
    request.once("response", (response) => {
      clearTimeout(timer);
      underWay = response;
      // The decoded stream reports the errors of the response.
      response.on("error", () => {});
      endWhenSilent(response, idleTimeoutMs);
      // Safe: only `set-cookie`, which is not used, is a list.
      const received = response.headers as Readonly<Record<string, string>>;
      const { statusCode: status = 0 } = response;
      const head = headOf(status, response.rawHeaders);
      const decoder = decoderOf(head.encoding);
      if (status < 200 || decoder === undefined) return fail(new UnsupportedResponseError());
      if (status >= 300) endAfter(response, responseTimeoutMs);
      resolve({
        ...head,
        stream: decodeStream(response, decoder),
        bodyHeaders: Object.fromEntries(
          Object.entries(decoder ? {} : received).filter(([name]) => BODY_HEADERS.has(name)),
        ),
        isHandedOver:
          OFFLOAD_HEADERS.some((name) => name in received) && Number(received["content-length"] ?? 0) === 0,
        keep: () => lifetime.offEnd(onLifetimeEnd),
      });
    });
    request.end();
  });
}

const BODY_HEADERS = new Set(["content-length", "content-range", "accept-ranges", "etag", "last-modified"]);

/** Headers with which an application leaves the sending of a file to nginx, Apache or lighttpd. The web server removes these headers. */
const OFFLOAD_HEADERS = ["x-accel-redirect", "x-sendfile"];

/** Destroys a response that does not end in time. For the bodies of errors only, because a download may take hours. */
function endAfter(response: IncomingMessage, ms: number): void {
  const timer = setTimeout(() => response.destroy(new TimeoutError()), ms);
  response.once("close", () => clearTimeout(timer));
}

/** Destroys a response if the service sends nothing for too long. If data is buffered, the service is not silent: the reader is slow. */
function endWhenSilent(response: IncomingMessage, idleTimeoutMs: number): void {
  response.setTimeout(idleTimeoutMs, () => {
    if (response.readableLength === 0) response.destroy(new TimeoutError());
    else response.socket.setTimeout(idleTimeoutMs);
  });
}
