import type { TraceEntry } from "../../operation-trace.ts";
import type { AnyEndpoint, Command, Get } from "../api/endpoint.ts";
import type { RateLimit } from "../../util/sliding-window.ts";
import { RESERVED_HEADERS } from "../api/headers.ts";
import type { RequestScope } from "../../callers/request-scope.ts";

/** One request to the service: an endpoint, its filled path with the query, and its parameters. */
export interface UpstreamRequest<Answer> {
  readonly endpoint: Get<never, Answer> | Command<never, Answer, never>;
  readonly path: string;
  readonly body?: string | null;
  /** A string that error messages must not contain, in addition to the caller's token. */
  readonly secret?: string | null;
  /** The token to send; null for none. By default the token of the caller. */
  readonly token?: string | null;
  /** The entry for this request in the operation trace; null without a trace. */
  readonly traceEntry?: TraceEntry | null;
  /** The `Range` and `If-Range` headers of a download. */
  readonly range?: Readonly<Record<string, string>> | null;
}

export interface RequestFormat {
  /** Prefix of every endpoint's path, with a slash at both ends. */
  readonly pathPrefix: string;
  /** The word before the token in the `Authorization` header. */
  readonly authorizationScheme: string;
  /** Headers of every request, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Strings that error messages must not contain, for any caller. */
  readonly secrets: readonly string[];
  /** The cheapest read that the server supports, for probes. */
  readonly cheapest: Get<object, unknown>;
  /** The rate limit per token for an endpoint; null if unknown. Endpoints that the service counts together have the same object. */
  readonly limitOf: (endpoint: AnyEndpoint) => RateLimit | null;
}

/** Creates the headers of a request. `trace`: headers of the trace context, which replace no other header. */
export function headersOf(
  requestFormat: RequestFormat,
  { token: own, requestId }: RequestScope,
  { endpoint, body = null, token = own, range }: UpstreamRequest<unknown>,
  trace: Readonly<Record<string, string>> | null,
): Readonly<Record<string, string>> {
  const accept = endpoint.answer.form === "json" ? "application/json" : "*/*";
  // The spread comes last, because in Node.js 20 each key after a spread costs a microsecond.
  const headers: Record<string, string> = { accept, "x-request-id": requestId, ...requestFormat.headers };
  if (token !== null) headers["authorization"] = `${requestFormat.authorizationScheme} ${token}`;
  if (body !== null) headers["content-type"] = "application/json";
  if (trace)
    for (const [name, value] of Object.entries(trace))
      if (!RESERVED_HEADERS.has(name)) headers[name] ??= value;
  // A range must be requested uncompressed: part of a compressed body cannot be decompressed.
  return range ? { ...headers, ...range, "accept-encoding": "identity" } : headers;
}
