import { errors } from "undici";
import { TooLarge, NotUnderstood } from "./body.ts";
import { Cancelled, DeadlineError, type ErrorCode, OVERLOADED, UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { EndpointName } from "./request.ts";
import { TimedOut, TransportError } from "./transport.ts";

const TIMEOUT = /^(?:UND_ERR_(?:HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/;
/** Codes of zlib, brotli and the HTTP parser, and of undici where a response breaks an assertion, as a status of 000 does. */
const DECODING = /^(?:Z_|HPE_|ERR_(?:_|BROTLI|ZLIB|ASSERTION))/;
/** Codes of the operating system, of undici, of TLS, of a proxy, and of a stream that ends before its time. */
const CONNECTION =
  /^(?:E[A-Z_]+$|UND_ERR_|ERR_(?:STREAM|SSL|TLS)_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|PROXY_)/;
/** The gateway itself lacks descriptors, ports or memory: this says nothing of the service. */
const LOCAL = /^(?:PROXY_)?(?:EMFILE|ENFILE|ENOMEM|ENOBUFS|EADDRNOTAVAIL)$/;

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}

const OUT_OF_REACH: Failure = { code: "UPSTREAM_UNAVAILABLE", message: "The service is out of reach." };

/** What kind of failure a cause is; null when it is none of HTTP's, but a bug of the gateway. */
function classify(cause: unknown, wasSent: boolean): Failure | null {
  const code = codeOf(cause);
  if (LOCAL.test(code)) return { code: "SERVICE_OVERLOADED", message: OVERLOADED };
  // Thrown by what counted the bytes as they came.
  if (cause instanceof UpstreamError) return cause;
  const isOutOfReach = CONNECTION.test(code) || cause instanceof TimedOut;
  if (!wasSent && isOutOfReach) return OUT_OF_REACH;
  if (cause instanceof TimedOut || TIMEOUT.test(code))
    return { code: "UPSTREAM_TIMEOUT", message: "The service did not answer in time." };
  if (cause instanceof TooLarge)
    return { code: "UPSTREAM_BAD_RESPONSE", message: `The service's answer is ${cause.message}.` };
  // The parser's errors have no code in every release of undici.
  if (DECODING.test(code) || cause instanceof NotUnderstood || cause instanceof errors.HTTPParserError)
    return { code: "UPSTREAM_BAD_RESPONSE", message: "The service's answer cannot be decoded." };
  return isOutOfReach ? OUT_OF_REACH : null;
}

/**
 * The error of a request without a usable response. The cause stays out of the message because it names hosts. A bug of
 * the gateway is returned as it is, except behind a command that was sent: that may have been done.
 */
export function mapFailure(endpoint: EndpointName, thrown: unknown): Error {
  if (thrown instanceof UpstreamError || thrown instanceof Cancelled) return thrown;
  const wasSent = isSent(thrown);
  const cause = thrown instanceof TransportError ? thrown.cause : thrown;
  const mayHaveBeenDone = endpoint.method !== "GET" && wasSent;
  const failure =
    classify(cause, wasSent) ??
    (mayHaveBeenDone
      ? { code: "UPSTREAM_BAD_RESPONSE" as const, message: "The service's answer cannot be used." }
      : null);
  if (!failure)
    return cause instanceof Error ? cause : new TypeError("something other than an error was thrown");
  return new UpstreamError(
    failure.code,
    failure.message,
    {
      upstream: { method: endpoint.method, route: endpoint.path },
      ...(mayHaveBeenDone ? { outcome: "unknown" } : {}),
    },
    cause,
  );
}

/** The error of a request that the end of its scope cut off. A command that was not sent cannot have been done. */
export function endedError({ method, path }: EndpointName, scope: RequestScope, wasSent: boolean): Error {
  if (scope.ended() !== "deadline") return new Cancelled("The caller left.");
  return new DeadlineError(
    "UPSTREAM_TIMEOUT",
    wasSent
      ? "The service did not answer in time."
      : "The request's time was over before the service could be asked.",
    { upstream: { method, route: path }, ...(wasSent && method !== "GET" ? { outcome: "unknown" } : {}) },
  );
}

/** Whether the service can have seen a request that failed. */
export const isSent = (thrown: unknown): boolean => !(thrown instanceof TransportError) || thrown.wasSent;

/** A word for the cause of a failure, as a log may hold it; null for a bug of the gateway. */
export function causeOf(cause: unknown): string | null {
  const isKnown = [TimedOut, TooLarge, NotUnderstood, errors.HTTPParserError].some(
    (kind) => cause instanceof kind,
  );
  return codeOf(cause) || (cause instanceof Error && isKnown ? cause.constructor.name : null);
}

/** The code that the system, TLS or a library gave a failure; empty when there is none. */
const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
