import { type ErrorCode, UpstreamError } from "../../errors.ts";
import { parseJson } from "../api/reader.ts";

export interface AskedRow {
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

export interface Verdict {
  readonly code: ErrorCode;
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
