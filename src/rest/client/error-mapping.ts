import { type ErrorCode, UpstreamError } from "../../errors.ts";
import type { UpstreamRequest } from "./request.ts";
import { parseJson } from "../api/reader.ts";

/** A response with an error, and what came with it. */
interface ErrorResponse {
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  readonly text: string;
  /** The caller's token, a password: a message that repeats one is not passed on. */
  readonly secrets: readonly (string | null | undefined)[];
}

/** A response of 300 or more, as the error that callers see. The document describes none; the table is ours. */
export function mapErrorResponse(
  endpoint: UpstreamRequest<unknown>["endpoint"],
  response: ErrorResponse,
): UpstreamError {
  const { code, message } = mapStatus(endpoint, response);
  const retryAfterSeconds = secondsOf(response.retryAfter);
  return new UpstreamError(code, message, {
    upstream: { method: endpoint.method, route: endpoint.path, status: response.status },
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(endpoint.method !== "GET" && mayHaveBeenDone(response) ? { outcome: "unknown" } : {}),
  });
}

/**
 * Whether a command can have been done although its response is an error. A 503 is a refusal; the others of 500 and more
 * can come from a server that had begun, 302 and 303 lead to what came of it, and a 304 says nothing.
 */
const mayHaveBeenDone = ({ status }: ErrorResponse): boolean =>
  (status >= 500 && status !== 503) || status === 302 || status === 303 || status === 304;

interface Mapped {
  readonly code: ErrorCode;
  readonly message: string;
}

function mapStatus(endpoint: UpstreamRequest<unknown>["endpoint"], response: ErrorResponse): Mapped {
  const { status } = response;
  const said = upstreamMessage(response);
  const message = isSafeToExpose(said, response.secrets) ? said : null;
  const isLogin = "anonymous" in endpoint && endpoint.anonymous;
  if (isLogin && (status === 400 || status === 401 || status === 403)) {
    return { code: "BAD_CREDENTIALS", message: message ?? "The service refused the username and password." };
  }
  if (status === 401 || (status === 403 && SIGNED_OUT.test(said))) {
    return { code: "UNAUTHENTICATED", message: message ?? "The service asks for a valid token." };
  }
  if ((status === 404 && isHtml(response)) || status === 405) {
    return {
      code: "UPSTREAM_UNSUPPORTED",
      message: `This server does not offer ${endpoint.method} ${endpoint.path}, or failed at it.`,
    };
  }
  if (status < 400) {
    return { code: "UPSTREAM_BAD_RESPONSE", message: "The service redirected, which is never followed." };
  }
  const known = BY_STATUS[status];
  if (known) return { code: known.code, message: (known.exposes ? message : null) ?? known.message };
  return { code: "UPSTREAM_ERROR", message: `The service answered ${status}.` };
}

/** Servers say 403 both for "not signed in" and for "not allowed"; only the words tell. */
const SIGNED_OUT = /authenticat|credential|token|inactive/i;

/** `exposes`: whether what the service said is passed on. */
const BY_STATUS: Readonly<Record<number, Mapped & { readonly exposes: boolean }>> = {
  400: { code: "BAD_USER_INPUT", message: "The service refused the input.", exposes: true },
  403: { code: "FORBIDDEN", message: "The service does not allow this.", exposes: true },
  404: { code: "NOT_FOUND", message: "Not found.", exposes: true },
  409: { code: "CONFLICT", message: "The record is in a state that does not allow this.", exposes: true },
  422: { code: "BAD_USER_INPUT", message: "The service refused the input.", exposes: true },
  429: { code: "RATE_LIMITED", message: "The service allows no more requests for now.", exposes: false },
  502: { code: "UPSTREAM_UNAVAILABLE", message: "The service is out of reach.", exposes: false },
  503: { code: "UPSTREAM_UNAVAILABLE", message: "The service is not ready.", exposes: false },
  504: { code: "UPSTREAM_UNAVAILABLE", message: "The service is out of reach.", exposes: false },
};

const isHtml = ({ contentType, text }: ErrorResponse) =>
  (contentType ?? "").startsWith("text/html") || text.trimStart().startsWith("<");

/** Longest message of the service that is passed on, in characters. */
const MAX_MESSAGE_LENGTH = 300;

/**
 * What the service said, in any of its shapes: `{"detail": "…"}`, `{"field": ["…"]}` (also nested),
 * `{"non_field_errors": […]}`, a list, a bare string. Empty when it said nothing in JSON.
 */
function upstreamMessage(response: ErrorResponse): string {
  if (isHtml(response)) return "";
  try {
    return beginningOf(sentences(parseJson(response.text), [])).join(" ");
  } catch {
    return "";
  }
}

/** The first sentences, until they are too long to be passed on: names of fields repeat, so 60 kB can make a gigabyte. */
function beginningOf(all: Iterable<string>): string[] {
  const taken: string[] = [];
  let length = 0;
  for (const sentence of all) {
    taken.push(sentence);
    length += sentence.length;
    if (length > MAX_MESSAGE_LENGTH) break;
  }
  return taken;
}

/** Whether a message is short and cannot hold markup, a path or a secret. */
const isSafeToExpose = (message: string, secrets: ErrorResponse["secrets"]): boolean =>
  message !== "" &&
  message.length <= MAX_MESSAGE_LENGTH &&
  !/[/\\<>\p{Cc}]/u.test(message) &&
  !secrets.some((secret) => secret && message.includes(secret));

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
