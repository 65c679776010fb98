import { errors } from "undici";
import { TooLarge, NotUnderstood } from "./body.ts";
import { Cancelled, OVERLOADED, retryOf, UpstreamError } from "../../errors.ts";
import type { AskedRow, Verdict } from "./error-mapping.ts";
import { TimedOut, TransportError } from "./transport.ts";

const TIMEOUT = /^(?:UND_ERR_(?:HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/;
/** Codes of zlib, brotli and the HTTP parser, and of undici where a response breaks an assertion, as a status of 000 does. */
const DECODING = /^(?:Z_|HPE_|ERR_(?:_|BROTLI|ZLIB|ASSERTION))/;
/** Codes of the operating system, of undici, of TLS, and of a stream that ends before its time. */
const CONNECTION =
  /^(?:E[A-Z_]+$|UND_ERR_|ERR_(?:STREAM|SSL|TLS)_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
/** The gateway itself lacks descriptors, ports or memory: this says nothing of the service. */
const LOCAL = /^(?:EMFILE|ENFILE|ENOMEM|ENOBUFS|EADDRNOTAVAIL)$/;

/** What kind of failure a cause is; null when it is none of HTTP's, but a slip of our own. */
function classify(cause: unknown, wasSent: boolean): Verdict | null {
  const code = codeOf(cause);
  if (LOCAL.test(code))
    return {
      code: "SERVICE_OVERLOADED",
      message: OVERLOADED,
    };
  // Refused while it came.
  if (cause instanceof UpstreamError) return cause;
  const isOutOfReach = CONNECTION.test(code) || cause instanceof TimedOut;
  if (!wasSent && isOutOfReach)
    return { code: "UPSTREAM_UNAVAILABLE", message: "The service is out of reach." };
  if (cause instanceof TimedOut || TIMEOUT.test(code))
    return { code: "UPSTREAM_TIMEOUT", message: "The service did not answer in time." };
  if (cause instanceof TooLarge)
    return { code: "UPSTREAM_BAD_RESPONSE", message: `The service's answer is ${cause.message}.` };
  // The parser's errors have no code in every release of undici.
  if (DECODING.test(code) || cause instanceof NotUnderstood || cause instanceof errors.HTTPParserError)
    return { code: "UPSTREAM_BAD_RESPONSE", message: "The service's answer cannot be decoded." };
  return isOutOfReach ? { code: "UPSTREAM_UNAVAILABLE", message: "The service is out of reach." } : null;
}

/**
 * The error of a request that brought no usable response. The cause stays out of the message: it names hosts. A slip of
 * our own is handed back as it is, except behind a command that was sent: that may have happened, whatever went wrong.
 */
export function failureOf(row: AskedRow, thrown: unknown): Error {
  if (thrown instanceof UpstreamError || thrown instanceof Cancelled) return thrown;
  const wasSent = thrown instanceof TransportError ? thrown.wasSent : true;
  const cause = thrown instanceof TransportError ? thrown.cause : thrown;
  const mayHaveBeenDone = row.method !== "GET" && wasSent;
  const failure: Verdict | null =
    classify(cause, wasSent) ??
    (mayHaveBeenDone
      ? { code: "UPSTREAM_BAD_RESPONSE", message: "The service's answer cannot be used." }
      : null);
  if (!failure)
    return cause instanceof Error ? cause : new TypeError("something other than an error was thrown");
  return new UpstreamError(
    failure.code,
    failure.message,
    {
      upstream: { method: row.method, route: row.path },
      ...(mayHaveBeenDone ? { outcome: "unknown" } : {}),
    },
    cause,
  );
}

/** A word for the cause of a failure, as a log may hold it; null for a slip of our own. */
export function causeOf(cause: unknown): string | null {
  const isKnown = [TimedOut, TooLarge, NotUnderstood, errors.HTTPParserError].some(
    (kind) => cause instanceof kind,
  );
  return codeOf(cause) || (cause instanceof Error && isKnown ? cause.constructor.name : null);
}

/** The code that the system, TLS or a library gave a failure; empty when there is none. */
const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";

/** Longest pause before a second try, in milliseconds. A service that asks for more is told of, not waited for. */
const LONGEST_PAUSE = 2_000;

/** Failures that a second try can mend. */
export const isTransient = (fault: unknown): boolean =>
  retryOf(fault) === "with backoff" && pauseAskedBy(fault) <= LONGEST_PAUSE;

/** How long to pause before a try, in milliseconds: full jitter, and at least as long as the service asks for. */
export const pauseBefore = (attempt: number, fault: unknown): number =>
  Math.max(pauseAskedBy(fault), Math.random() * Math.min(LONGEST_PAUSE, 100 * 2 ** (attempt - 1)));

/** How long the service asks to be left alone, in milliseconds. */
export const pauseAskedBy = (fault: unknown): number =>
  fault instanceof UpstreamError ? (fault.facts.retryAfterSeconds ?? 0) * 1000 : 0;

/** Whether the service says that it was asked too often, and when to come again. */
export const isThrottled = (fault: unknown): boolean =>
  fault instanceof UpstreamError &&
  retryOf(fault) === "when told" &&
  fault.facts.retryAfterSeconds !== undefined;
