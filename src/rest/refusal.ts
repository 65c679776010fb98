import { errors } from "undici";
import { Cancelled, DeadlineError, UpstreamError, type UpstreamCode } from "./errors.ts";
import { parseJson } from "./reader.ts";

interface AskedRow {
  readonly method: string;
  readonly path: string;
  readonly anonymous?: boolean;
}

interface Refusal {
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  readonly text: string;
  /** The caller's token, a password: a message that repeats one is not passed on. */
  readonly secrets: readonly (string | null | undefined)[];
}

/** An answer of 300 or more, as the error that callers see. The document describes none; the table is ours. */
export function refusal(row: AskedRow, answer: Refusal): UpstreamError {
  const { code, message } = verdict(row, answer);
  const retryAfterSeconds = secondsOf(answer.retryAfter);
  return new UpstreamError(code, message, {
    upstream: { method: row.method, route: row.path, status: answer.status },
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(row.method !== "GET" && mayHaveHappened(answer) ? { outcome: "unknown" } : {}),
  });
}

/**
 * Whether a command can have happened although its answer is an error. A 503 is a refusal; the others of 500 and more
 * can come from a server that had begun, 302 and 303 lead to what came of it, and a 304 says nothing.
 */
const mayHaveHappened = ({ status }: Refusal): boolean =>
  (status >= 500 && status !== 503) || status === 302 || status === 303 || status === 304;

interface Verdict {
  readonly code: UpstreamCode;
  readonly message: string;
}

function verdict(row: AskedRow, answer: Refusal): Verdict {
  const { status } = answer;
  const words = complaint(answer);
  const told = isFitToQuote(words, answer.secrets) ? words : null;
  if (row.anonymous && (status === 400 || status === 401 || status === 403)) {
    return { code: "BAD_CREDENTIALS", message: told ?? "The service refused the username and password." };
  }
  if (status === 401 || (status === 403 && SIGNED_OUT.test(words))) {
    return { code: "UNAUTHENTICATED", message: told ?? "The service asks for a valid token." };
  }
  if ((status === 404 && isHtml(answer)) || status === 405) {
    return {
      code: "UPSTREAM_UNSUPPORTED",
      message: `This server does not offer ${row.method} ${row.path}, or failed at it.`,
    };
  }
  if (status < 400) {
    return { code: "UPSTREAM_BAD_RESPONSE", message: "The service redirected, which is never followed." };
  }
  const known = BY_STATUS[status];
  if (known) return { code: known.code, message: (known.quotes ? told : null) ?? known.message };
  return { code: "UPSTREAM_ERROR", message: `The service answered ${status}.` };
}

/** Servers say 403 both for "not signed in" and for "not allowed"; only the words tell. */
const SIGNED_OUT = /authenticat|credential|token|inactive/i;

const BY_STATUS: Readonly<Record<number, Verdict & { readonly quotes: boolean }>> = {
  400: { code: "BAD_USER_INPUT", message: "The service refused the input.", quotes: true },
  403: { code: "FORBIDDEN", message: "The service does not allow this.", quotes: true },
  404: { code: "NOT_FOUND", message: "Not found.", quotes: true },
  409: { code: "CONFLICT", message: "The record is in a state that does not allow this.", quotes: true },
  422: { code: "BAD_USER_INPUT", message: "The service refused the input.", quotes: true },
  429: { code: "RATE_LIMITED", message: "The service allows no more requests for now.", quotes: false },
  502: { code: "UPSTREAM_UNAVAILABLE", message: "The service is out of reach.", quotes: false },
  503: { code: "UPSTREAM_UNAVAILABLE", message: "The service is not ready.", quotes: false },
  504: { code: "UPSTREAM_UNAVAILABLE", message: "The service is out of reach.", quotes: false },
};

const isHtml = ({ contentType, text }: Refusal) =>
  (contentType ?? "").startsWith("text/html") || text.trimStart().startsWith("<");

/** Longest message of the service that is passed on, in characters. */
const LONGEST_QUOTE = 300;

/**
 * What the service said, in any of its shapes: `{"detail": "…"}`, `{"field": ["…"]}` (also nested),
 * `{"non_field_errors": […]}`, a list, a bare string. Empty when it said nothing in JSON.
 */
function complaint(answer: Refusal): string {
  if (isHtml(answer)) return "";
  try {
    return beginningOf(sentences(parseJson(answer.text), [])).join(" ");
  } catch {
    return "";
  }
}

/** So many that they are too long to be passed on: names of fields repeat, so 60 kB can say a gigabyte. */
function beginningOf(complaints: Iterable<string>): string[] {
  const begun: string[] = [];
  let length = 0;
  for (const sentence of complaints) {
    begun.push(sentence);
    length += sentence.length;
    if (length > LONGEST_QUOTE) break;
  }
  return begun;
}

/** Words are passed on when they are short and cannot hold markup, a path or a secret. */
const isFitToQuote = (words: string, secrets: Refusal["secrets"]): boolean =>
  words !== "" &&
  words.length <= LONGEST_QUOTE &&
  !/[/\\<>\p{Cc}]/u.test(words) &&
  !secrets.some((secret) => secret && words.includes(secret));

const UNNAMED = new Set(["detail", "non_field_errors"]);

function* sentences(body: unknown, path: readonly string[]): Generator<string> {
  if (typeof body === "string") {
    yield path.length === 0 ? body : `${path.join(".")}: ${body}`;
  } else if (Array.isArray(body)) {
    for (const item of body) yield* sentences(item, path);
  } else if (typeof body === "object" && body !== null) {
    for (const [key, value] of Object.entries(body)) {
      yield* sentences(value, UNNAMED.has(key) ? path : [...path, key]);
    }
  }
}

/** `Retry-After` in seconds, from a number or an HTTP date; null when it is neither. */
function secondsOf(retryAfter: string | null): number | null {
  const given = retryAfter?.trim() ?? "";
  if (/^\d{1,9}$/.test(given)) return Number(given);
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(given)
    ? Date.parse(given)
    : NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}

/** Codes of failures before anything was sent: the command cannot have happened. */
const NOT_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|EPROTO|ERR_(?:SSL|TLS)_\w+|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+)$/;
const TIMEOUT = /^(?:UND_ERR_(?:HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/;
/** Codes of zlib and brotli. */
const DECODING = /^(?:Z_|ERR_(?:_|BROTLI|ZLIB))/;
/** Codes of the operating system, of undici, and of a stream that ends before its time. */
const CONNECTION = /^(?:E[A-Z]+$|UND_ERR_|ERR_STREAM_)/;

/**
 * A failure of the connection or of reading the answer. The cause stays out of the message: it names hosts.
 * A slip of our own is handed back as it is.
 */
export function noAnswer(row: AskedRow, cause: unknown): Error {
  if (cause instanceof UpstreamError || cause instanceof Cancelled) return cause;
  const code = codeOf(cause);
  const told = (kind: UpstreamCode, message: string) =>
    new UpstreamError(
      kind,
      message,
      {
        upstream: { method: row.method, route: row.path },
        ...(row.method !== "GET" && !NOT_SENT.test(code) ? { outcome: "unknown" } : {}),
      },
      cause,
    );
  if (TIMEOUT.test(code) || isTimeout(cause))
    return told("UPSTREAM_TIMEOUT", "The service did not answer in time.");
  if (cause instanceof TooLarge)
    return told("UPSTREAM_BAD_RESPONSE", `The service's answer is ${cause.message}.`);
  if (DECODING.test(code) || cause instanceof errors.HTTPParserError || isTooManyEncodings(cause)) {
    return told("UPSTREAM_BAD_RESPONSE", "The service's answer cannot be decoded.");
  }
  if (NOT_SENT.test(code) || CONNECTION.test(code)) {
    return told("UPSTREAM_UNAVAILABLE", "The service is out of reach.");
  }
  return cause instanceof Error ? cause : new TypeError("something other than an error was thrown");
}

/** The one failure of undici's that has no code. */
const isTooManyEncodings = (cause: unknown): boolean =>
  cause instanceof Error && cause.message.startsWith("too many content-encodings");

/** What `AbortSignal.timeout` aborts with. */
export const isTimeout = (reason: unknown): boolean =>
  reason instanceof DOMException && reason.name === "TimeoutError";

/** An answer that is longer than the limit. */
export class TooLarge extends Error {}

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";

/** Longest pause before a second try, in milliseconds. A service that asks for more is told of, not waited for. */
const LONGEST_PAUSE = 2_000;

/** Failures that speak against the service: out of reach, not ready, or silent. Not a refusal, nor a caller that left. */
export const isOutage = (fault: Error): boolean =>
  fault instanceof UpstreamError &&
  !(fault instanceof DeadlineError) &&
  (fault.code === "UPSTREAM_UNAVAILABLE" || fault.code === "UPSTREAM_TIMEOUT");

/** Failures that a second try can mend. */
export const isTransient = (fault: Error): boolean =>
  fault instanceof UpstreamError &&
  fault.code === "UPSTREAM_UNAVAILABLE" &&
  pauseAskedBy(fault) <= LONGEST_PAUSE;

/** How long to pause before a try, in milliseconds: full jitter, and at least as long as the service asks for. */
export const pauseBefore = (attempt: number, fault: unknown): number =>
  Math.max(pauseAskedBy(fault), Math.random() * Math.min(LONGEST_PAUSE, 100 * 2 ** (attempt - 1)));

/** How long the service asks to be left alone, in milliseconds. */
export const pauseAskedBy = (fault: unknown): number =>
  fault instanceof UpstreamError ? (fault.facts.retryAfterSeconds ?? 0) * 1000 : 0;

/** Whether the service says that it was asked too often, and when to come again. */
export const isThrottled = (fault: unknown): boolean =>
  fault instanceof UpstreamError &&
  fault.code === "RATE_LIMITED" &&
  fault.facts.retryAfterSeconds !== undefined;
