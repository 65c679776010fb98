import errors from "undici/lib/core/errors.js";
import { UnsupportedResponseError } from "./body.ts";
import {
  CancelledError,
  DeadlineError,
  OVERLOADED,
  GatewayError,
  isGatewayError,
  ResponseTooLargeError,
} from "../../errors.ts";
import type { EndpointName } from "../api/endpoint.ts";
import type { Lifetime } from "./upstream-call.ts";
import { type Mapped, MAX_RETRY_AFTER_SECONDS, THROTTLED } from "./error-mapping.ts";
import { TimeoutError, TransportError } from "./transport.ts";

const TIMEOUT = /^(?:UND_ERR_(?:HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/;
/** Matches codes of zlib, brotli and the HTTP parser, and of a failed assertion in undici, for example on status 000. */
const DECODING = /^(?:Z_|HPE_|ERR_(?:_|BROTLI|ZLIB|ASSERTION))/;
/** Matches codes of the operating system, undici, TLS, a proxy and prematurely closed streams. Bugs of the gateway have none. */
const CONNECTION = /^(?!ERR_(?!STREAM|SSL|TLS))[A-Z]/;
/** Matches codes which mean that the gateway itself lacks file descriptors, ports or memory. */
const LOCAL = /^(?:PROXY_)?(?:EMFILE|ENFILE|ENOMEM|ENOBUFS|EADDRNOTAVAIL)$/;

const OUT_OF_REACH: Mapped = { code: "UPSTREAM_UNAVAILABLE", message: "The service cannot be reached." };

/** Classifies the cause of a failure. Returns null for a bug of the gateway. */
function classify(cause: unknown, wasSent: boolean): Mapped | null {
  const code = codeOf(cause);
  if (LOCAL.test(code)) return { code: "SERVICE_OVERLOADED", message: OVERLOADED };
  // Byte limits throw `GatewayError` while the response is being received.
  if (cause instanceof GatewayError) return cause;
  const isOutOfReach = CONNECTION.test(code) || cause instanceof TimeoutError;
  if (!wasSent && isOutOfReach) return OUT_OF_REACH;
  if (cause instanceof TimeoutError || TIMEOUT.test(code))
    return { code: "UPSTREAM_TIMEOUT", message: "The service did not respond in time." };
  if (cause instanceof ResponseTooLargeError)
    return { code: "UPSTREAM_BAD_RESPONSE", message: `The service's answer is ${cause.message}.` };
  // Not every release of undici gives the parser's errors a code.
  if (
    DECODING.test(code) ||
    cause instanceof UnsupportedResponseError ||
    cause instanceof errors.HTTPParserError
  )
    return { code: "UPSTREAM_BAD_RESPONSE", message: "The service's response cannot be decoded." };
  return isOutOfReach ? OUT_OF_REACH : null;
}

/**
 * Maps the failure of a request to an error for callers. The message omits the cause because it can contain host names. A bug of the
 * gateway is returned unchanged, unless a command was sent: the error must then say that it may have been executed.
 */
export function mapTransportError(
  endpoint: EndpointName,
  error: unknown,
  status: number | null = null,
): Error {
  // The reader that threw the error could not name the request, so the request is added here.
  const isUnread = isGatewayError(error, "UPSTREAM_BAD_RESPONSE") && !error.details.upstream;
  if (error instanceof CancelledError || (error instanceof GatewayError && !isUnread)) return error;
  const wasSent = isSent(error);
  const cause = error instanceof TransportError ? error.cause : error;
  const mayHaveBeenDone = endpoint.method !== "GET" && wasSent;
  const failure =
    classify(cause, wasSent) ??
    (mayHaveBeenDone
      ? { code: "UPSTREAM_BAD_RESPONSE" as const, message: "The service's response cannot be used." }
      : null);
  if (!failure)
    return cause instanceof Error ? cause : new TypeError("something other than an error was thrown");
  return new GatewayError(
    failure.code,
    failure.message,
    {
      upstream: { method: endpoint.method, route: endpoint.path, ...(isUnread && status && { status }) },
      ...(mayHaveBeenDone ? { outcome: "unknown" } : {}),
    },
    // A `GatewayError` as the cause would replace this error wherever errors of one failure are merged.
    cause instanceof GatewayError ? undefined : cause,
  );
}

/** The error of a request whose consumers have all disconnected or reached their deadline. `wasSent`: whether it may have arrived. */
export function endedError(
  { method, path }: EndpointName,
  lifetime: Pick<Lifetime, "ended">,
  wasSent: boolean,
): Error {
  if (lifetime.ended !== "deadline") return new CancelledError("The caller left.");
  return new DeadlineError(
    "UPSTREAM_TIMEOUT",
    wasSent
      ? "The service did not respond in time."
      : "The deadline passed before the request could be sent to the service.",
    { upstream: { method, route: path }, ...(wasSent && method !== "GET" ? { outcome: "unknown" } : {}) },
  );
}

/** The error of a request that was not sent, because the rate limit allows it only in `waitMs` milliseconds. */
export function throttledError({ method, path }: EndpointName, waitMs: number): Error {
  const retryAfterSeconds = Math.min(Math.max(1, Math.ceil(waitMs / 1000)), MAX_RETRY_AFTER_SECONDS);
  return new DeadlineError("RATE_LIMITED", THROTTLED, {
    upstream: { method, route: path },
    retryAfterSeconds,
  });
}

/** The error of a command that is not sent because the server would process it only after an earlier command that timed out. */
export const timedOutBeforeError = ({ method, path }: EndpointName): Error =>
  new DeadlineError(
    "UPSTREAM_TIMEOUT",
    "Not sent: the service did not respond to an earlier command of this operation in time.",
    { upstream: { method, route: path } },
  );

/** Whether the service may have received a failed request. */
export const isSent = (error: unknown): boolean => !(error instanceof TransportError) || error.wasSent;

/** The cause of a failure as one word that is safe to log; null for a bug of the gateway. */
export function causeOf(cause: unknown): string | null {
  const isKnown = [
    TimeoutError,
    ResponseTooLargeError,
    UnsupportedResponseError,
    errors.HTTPParserError,
  ].some((kind) => cause instanceof kind);
  return codeOf(cause) || (cause instanceof Error && isKnown ? cause.constructor.name : null);
}

/** The `code` of an error of the operating system, TLS or a library; empty if there is none. */
const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";

export const noToken = () =>
  new GatewayError(
    "UNAUTHENTICATED",
    "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
  );
