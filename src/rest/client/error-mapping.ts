import { type ErrorCode, GatewayError, tryTo } from "../../errors.ts";
import type { UpstreamCall } from "./upstream-call.ts";
import type { UpstreamRequest } from "./request.ts";
import { isHtml, type ResponseHead } from "./transport.ts";
import { httpDateMs } from "./upstream-clock.ts";
import { parseJson } from "../api/parse-json.ts";
import { type EndpointName, spellingOf } from "../api/endpoint.ts";

interface ErrorResponse extends ResponseHead {
  /** The path of the request with its parameters filled in, and its query. */
  readonly path: string;
  readonly text: string;
  /** Strings such as the token of the caller or a password. Messages that contain one are not exposed. */
  readonly secrets: readonly (string | null | undefined)[];
}

/** Maps a response with status 300 or above, which the service's document does not describe, to an error for callers. */
export function mapErrorResponse(
  { request: { endpoint, path, token, secret }, requester: { scope } }: UpstreamCall,
  head: ResponseHead,
  body: Buffer,
  common: readonly string[],
): GatewayError {
  const secrets = [...common, scope.token, token, secret];
  const response = { ...head, path, text: body.toString("utf8"), secrets };
  const { code, message } = mapStatus(endpoint, response);
  const retryAfterSeconds = secondsOf(response);
  return new GatewayError(code, message, {
    upstream: { method: endpoint.method, route: endpoint.path, status: response.status },
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(endpoint.method !== "GET" && (mayHaveBeenDone(response) || isCrash(endpoint, response))
      ? { outcome: "unknown" }
      : {}),
  });
}

/**
 * Whether a command may have taken effect although its response is an error. A 5xx or a 408 may come from a proxy that had already
 * forwarded the command. Envoy and Heroku, for example, send 503 if the upstream connection breaks. 302 and 303 redirect to a result. 304
 * leaves it open whether the command took effect.
 */
const mayHaveBeenDone = ({ status }: ErrorResponse): boolean =>
  status >= 500 || status === 408 || status === 302 || status === 303 || status === 304;

/** Known servers respond with 405 and HTML when a command crashes them. A 405 for an unsupported method has a JSON body. */
const isCrash = ({ method }: EndpointName, { status, contentType }: ErrorResponse): boolean =>
  method !== "GET" && status === 405 && !(contentType ?? "").includes("json");

export interface Mapped {
  readonly code: ErrorCode;
  readonly message: string;
}

function mapStatus(endpoint: UpstreamRequest<unknown>["endpoint"], response: ErrorResponse): Mapped {
  const { status } = response;
  const said = upstreamMessage(response);
  const message = isSafeToExpose(said, response.secrets) ? said : null;
  const isLogin = "anonymous" in endpoint && endpoint.anonymous;
  if (isLogin && (status === 400 || status === 401 || status === 403))
    return { code: "BAD_CREDENTIALS", message: message ?? "The service refused the username and password." };
  if (status === 401 || (status === 403 && SIGNED_OUT.test(said)))
    return { code: "UNAUTHENTICATED", message: message ?? "The service requires a valid token." };
  if (isCrash(endpoint, response)) {
    // Server releases without this endpoint respond in the same way.
    const orLacks = endpoint.optional ? ", or does not offer it" : "";
    return { code: "UPSTREAM_ERROR", message: `The server failed at ${spellingOf(endpoint)}${orLacks}.` };
  }
  if ((status === 404 && isHtmlError(response)) || status === 405) {
    if (status === 404 && hasUncommonName(endpoint.path, response.path))
      return { code: "NOT_FOUND", message: notFound(endpoint.path, response.path) };
    return { code: "UPSTREAM_UNSUPPORTED", message: `This server does not offer ${spellingOf(endpoint)}.` };
  }
  if (status < 400)
    return {
      code: "UPSTREAM_BAD_RESPONSE",
      message: "The service sent a redirect, which the gateway does not follow.",
    };
  if (status === 404 && (message === null || message === "Not found."))
    return { code: "NOT_FOUND", message: notFound(endpoint.path, response.path) };
  const row = BY_STATUS[status];
  if (row) return { code: row.code, message: (row.exposes ? message : null) ?? row.message };
  return { code: "UPSTREAM_ERROR", message: `The service answered ${status}.` };
}

const isParameter = (part: string): boolean => part.includes("{");

/** Names the missing resource (`ada.mnist.jobs.3`) or the argument that names it (`username ada`). Exposes only what the caller sent. */
function notFound(template: string, filled: string): string {
  const [path = "", query] = filled.split("?");
  const parts = template.split("/");
  const [first, last] = [parts.findIndex(isParameter), parts.findLastIndex(isParameter)];
  if (last < 0) return "Not found.";
  const names = path.split("/").slice(first, last + 1);
  const { path: file, group } = Object.fromEntries(new URLSearchParams(query));
  if (group) names.push("groups", group);
  const argument = first > 0 && first === last ? `${parts[first]?.slice(1, -1)} ` : "";
  return `Not found: ${file ? `${file} of ` : argument}${names.map(decodeURIComponent).join(".")}.`;
}

/** Whether a path parameter contains a character that the patterns of known servers do not match, such as a dot. */
function hasUncommonName(template: string, filled: string): boolean {
  const segments = filled.replace(/\?.*$/s, "").split("/");
  return template.split("/").some((part, index) => isParameter(part) && /[^\w-]/.test(segments[index] ?? ""));
}

export const THROTTLED = "The service allows no more requests for now.";

/** Servers respond with 403 for both "not signed in" and "not allowed". Only the message distinguishes them. */
const SIGNED_OUT = /authenticat|credential|token|inactive/i;

/** `exposes`: whether callers see the service's own message. */
const BY_STATUS: Readonly<Record<number, Mapped & { readonly exposes: boolean }>> = {
  400: { code: "BAD_USER_INPUT", message: "The service refused the input.", exposes: true },
  403: { code: "FORBIDDEN", message: "The service does not allow this.", exposes: true },
  404: { code: "NOT_FOUND", message: "Not found.", exposes: true },
  409: { code: "CONFLICT", message: "The record is in a state that does not allow this.", exposes: true },
  422: { code: "BAD_USER_INPUT", message: "The service refused the input.", exposes: true },
  429: { code: "RATE_LIMITED", message: THROTTLED, exposes: false },
  502: { code: "UPSTREAM_UNAVAILABLE", message: "The service cannot be reached.", exposes: false },
  503: { code: "UPSTREAM_UNAVAILABLE", message: "The service is not ready.", exposes: false },
  504: { code: "UPSTREAM_UNAVAILABLE", message: "The service cannot be reached.", exposes: false },
};

const isHtmlError = (response: ErrorResponse) =>
  isHtml(response) || response.text.trimStart().startsWith("<");

/** Maximum length of a message of the service that callers see, in characters. */
const MAX_MESSAGE_LENGTH = 300;

/** Maximum number of strings that are read from an error body, and maximum depth at which they are searched. */
const MAX_SENTENCES = 100;
const MAX_SENTENCE_LEVELS = 8;

/** Extracts the service's message: `{"detail": "…"}`, `{"field": ["…"]}` (also nested), a list, a string. Empty if there is no JSON. */
function upstreamMessage(response: ErrorResponse): string {
  if (isHtmlError(response)) return "";
  const body = tryTo(() => parseJson(Buffer.from(response.text)));
  let message = "";
  let count = 0;
  for (const sentence of sentences(body, [])) {
    message += message === "" ? sentence : ` ${sentence}`;
    // Each sentence begins with its path, so 60 kB of JSON can expand to a gigabyte.
    if (message.length > MAX_MESSAGE_LENGTH || ++count === MAX_SENTENCES) break;
  }
  return message;
}

/** Whether a message is short and free of markup, paths and secrets. A comparison such as `>=0.5` is not markup. */
const isSafeToExpose = (message: string, secrets: ErrorResponse["secrets"]): boolean =>
  message !== "" &&
  message.length <= MAX_MESSAGE_LENGTH &&
  !/[/\\\p{Cc}]|<[a-z!?]/iu.test(message) &&
  !secrets.some((secret) => secret && message.includes(secret));

const UNNAMED_KEYS = new Set(["detail", "non_field_errors"]);

function* sentences(body: unknown, path: readonly string[], level = 0): Generator<string> {
  if (typeof body === "string") {
    yield path.length === 0 ? body : `${path.join(".")}: ${body}`;
  } else if (level === MAX_SENTENCE_LEVELS) {
    return;
  } else if (Array.isArray(body)) {
    for (const item of body) yield* sentences(item, path, level + 1);
  } else if (typeof body === "object" && body !== null) {
    for (const [key, value] of Object.entries(body)) {
      yield* sentences(value, UNNAMED_KEYS.has(key) ? path : [...path, key], level + 1);
    }
  }
}

/** Maximum pause after a throttled request, and maximum value of `retryAfterSeconds`, in seconds. */
export const MAX_RETRY_AFTER_SECONDS = 300;

/**
 * Parses `Retry-After` into whole seconds up to the maximum; null if it is neither a number nor an HTTP date. A date is compared with the
 * `Date` header of the response, because the clocks of both sides may differ. A response without `Date` is compared with the gateway's
 * clock.
 */
function secondsOf({ retryAfter, date }: ResponseHead): number | null {
  const given = retryAfter ?? "";
  const seconds = /^\d{1,9}(?:\.\d+)?$/.test(given)
    ? Number(given)
    : (httpDateMs(given) - (httpDateMs(date) || Date.now())) / 1000;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(0, Math.ceil(seconds)), MAX_RETRY_AFTER_SECONDS);
}
