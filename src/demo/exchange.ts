import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

import type { User } from "./model.ts";
import type { World } from "./store.ts";

/** One request, routed and with its token looked up. */
export interface Exchange {
  readonly world: World;
  /** Null when no token that the service understands was sent. */
  readonly caller: User | null;
  /** What stands in the holes of the route's path. */
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
  /** Scheme, Host header and path as they came: what links to other pages are made from. */
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
  /** The decoded JSON body, an empty object when none was sent. Refuses what is not JSON. */
  readonly body: () => unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | Readable;
}

export type Handler = (exchange: Exchange) => Answer | Promise<Answer>;

/** What one row of the service's interface is. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Relative to `/api/v1/`, spelled as in the document, holes in braces. */
  readonly path: string;
  readonly handler: Handler;
}

export function json(status: number, value: unknown): Answer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** An answer without a body, as real servers give it to most commands. */
export function empty(status: number): Answer {
  return { status, headers: { "content-type": "text/html; charset=utf-8" }, body: "" };
}

/** Thrown where a request is answered with an error; the body is one of the shapes that real servers use. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super(`refused with ${status}`);
    this.status = status;
    this.body = body;
  }
}

export function notFound(): Refusal {
  return new Refusal(404, { detail: "Not found." });
}

export function forbidden(): Refusal {
  return new Refusal(403, { detail: "You do not have permission to perform this action." });
}
