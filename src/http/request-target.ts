import type { IncomingMessage } from "node:http";

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/is;

/**
 * Changes a request whose target is in absolute form (`http://host/path`), which some proxies send, to origin form (`/path`). The host of
 * the target replaces the header `Host` (RFC 9112, section 3.2.2).
 */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = "", headers } = request;
  if (url.startsWith("/")) return;
  const [, host, rest = ""] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined) return;
  headers.host = host;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/** Whether the target is a path and the header `Host` is valid in a URL. */
export function hasValidUrl({ url = "", headers: { host = "localhost" } }: IncomingMessage): boolean {
  if (host !== lastHost && !(HOST.test(host) && URL.canParse(`http://${host}`))) return false;
  lastHost = host;
  return url.startsWith("/");
}

/** Maximum headers of a request. Node keeps each of them as two strings, and anybody can open connections and leave heads unfinished. */
export const MAX_HEADERS = 100;

/** Whether a request has more headers than the maximum. Node drops the others silently, even the token. */
export const hasTooManyHeaders = ({ rawHeaders }: IncomingMessage) => rawHeaders.length > 2 * MAX_HEADERS;

/** The last valid `Host`. It is remembered because nearly all requests have the same host, and parsing it takes as long as routing. */
let lastHost = "localhost";

/** The allowed origins of pages: exact origins, or patterns. */
export type Origins = readonly (string | RegExp)[];

/** Matches the origins of pages that a server on this machine serves, such as the development server of a frontend. */
export const LOCAL_PAGES = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/**
 * Whether a page was served by this gateway on this machine: its origin is a local address, and the same as the request's host. Comparing
 * the origin with the host is not enough: both are equal if an attacker rebinds a domain name to this machine.
 */
export const isOwnLocalPage = (origin: string, host: string | undefined): boolean =>
  LOCAL_PAGES.test(origin) && new URL(origin).host === host;

export const isAmong = (origins: Origins, origin: string): boolean =>
  origins.some((each) => (typeof each === "string" ? each === origin : each.test(origin)));

/**
 * Whether a page of this origin may open a WebSocket. The gateway checks the origin itself, because browsers do not apply CORS to WebSockets. Other
 * clients send no origin. The scheme is not compared, because it is unknown behind a proxy.
 */
export const mayConnect = (origin: string | undefined, host: string | undefined, origins: Origins): boolean =>
  origin === undefined || isAmong(origins, origin) || (URL.canParse(origin) && new URL(origin).host === host);
