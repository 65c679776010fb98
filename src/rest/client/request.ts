import type { Note } from "../../journal.ts";
import type { AnyEndpoint, Command, Get } from "../api/endpoint.ts";
import type { RateLimit } from "../../rate.ts";
import type { RequestScope } from "../../request-scope.ts";

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
  /** What the journal of its operation says of it; null without one. */
  readonly note?: Note | null;
  /** `Range` and `If-Range` of a download. */
  readonly range?: Readonly<Record<string, string>> | null;
}

/** How requests to the service are written. */
export interface Dialect {
  /** Prefix of every endpoint's path, with a slash at both ends. */
  readonly pathPrefix: string;
  /** The scheme before the token. */
  readonly authorizationScheme: string;
  /** Headers of every request, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that no error message may contain, for any caller. */
  readonly secrets: readonly string[];
  /** The cheapest read that the server has. */
  readonly cheapest: Get<object, unknown>;
  /** What the service allows one token: one object for all endpoints that it counts together; null when it is not known. */
  readonly limitOf: (endpoint: AnyEndpoint) => RateLimit | null;
}

type Headers = Readonly<Record<string, string>>;

/** Builds the headers of the requests of one scope. Reads of one token have the same headers, which are built once. */
export class RequestHeaders {
  readonly dialect: Dialect;
  readonly #scope: RequestScope;
  #last: { readonly token: string | null; readonly accept: string; readonly headers: Headers } | null = null;

  constructor(dialect: Dialect, scope: RequestScope) {
    this.dialect = dialect;
    this.#scope = scope;
  }

  of({ endpoint, body = null, token, range }: UpstreamRequest<unknown>, traceparent: string | null): Headers {
    const common = this.#commonOf(
      token === undefined ? this.#scope.token : token,
      endpoint.answer.form === "json" ? "application/json" : "*/*",
    );
    if (traceparent === null && body === null && !range) return common;
    return {
      ...common,
      ...(traceparent !== null && { traceparent }),
      ...(body !== null && { "content-type": "application/json" }),
      // A range of a compressed body cannot be decompressed.
      ...(range && { ...range, "accept-encoding": "identity" }),
    };
  }

  #commonOf(token: string | null, accept: string): Headers {
    if (this.#last?.token === token && this.#last.accept === accept) return this.#last.headers;
    const { authorizationScheme, headers: fixed } = this.dialect;
    const headers = {
      ...fixed,
      accept,
      "x-request-id": this.#scope.requestId,
      ...(token !== null && { authorization: `${authorizationScheme} ${token}` }),
    };
    this.#last = { token, accept, headers };
    return headers;
  }
}
