import type { Command, Get } from "../api/endpoint.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { WireRequest } from "./transport.ts";

type Endpoint<At, Answer> = Get<At, Answer> | Command<At, Answer, never>;

/** One request to the service: an endpoint, its filled path with the query, and its parameters. */
export interface UpstreamRequest<Answer> {
  readonly endpoint: Endpoint<never, Answer>;
  readonly path: string;
  readonly body?: string | null;
  /** A text that no error message may contain, besides the caller's token. */
  readonly secret?: string | null;
  /** The token to send; null for none. Defaults to the caller's. */
  readonly token?: string | null;
  /** Number of positions in the operation's result that wait for this request now. */
  readonly waiting?: (() => number) | undefined;
  /** `Range` and `If-Range` of a download. */
  readonly range?: Readonly<Record<string, string>> | null;
}

/** The method and path template of an endpoint, which are safe in messages and logs. */
export interface EndpointName {
  readonly method: string;
  readonly path: string;
}

interface WireSettings {
  /** Prefix of every endpoint's path, with a slash at both ends. */
  readonly basePath: string;
  /** The scheme before the token. */
  readonly authorizationScheme: string;
  /** Headers of every request, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly traceparent: string | null;
}

/** Builds the HTTP request with its headers. */
export function toWireRequest(
  { endpoint, path, body = null, token, range }: UpstreamRequest<unknown>,
  scope: RequestScope,
  { basePath, authorizationScheme, headers: fixed, traceparent }: WireSettings,
): WireRequest {
  const headers: Record<string, string> = {
    ...fixed,
    accept: endpoint.answer.form === "json" ? "application/json" : "*/*",
    "x-request-id": scope.requestId,
  };
  const sentToken = token === undefined ? scope.token : token;
  if (traceparent !== null) headers["traceparent"] = traceparent;
  if (sentToken !== null) headers["authorization"] = `${authorizationScheme} ${sentToken}`;
  if (body !== null) headers["content-type"] = "application/json";
  // A range of a compressed body cannot be decompressed.
  if (range) Object.assign(headers, range, { "accept-encoding": "identity" });
  return {
    method: endpoint.method,
    path: basePath + path,
    headers,
    body,
    wantsBody: endpoint.answer.form === "json",
  };
}
