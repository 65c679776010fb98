import type { IncomingMessage } from "node:http";

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/is;

/**
 * Brings a target in absolute form (`http://host/path`), which some proxies send, into origin form (`/path`). Its host
 * replaces the header `Host` (RFC 9112, section 3.2.2).
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

/** Whether the target is a path, and the Host that of a URL, as answers have them. */
export function hasValidUrl({ url = "", headers: { host = "localhost" } }: IncomingMessage): boolean {
  if (host !== lastHost && !(HOST.test(host) && URL.canParse(`http://${host}`))) return false;
  lastHost = host;
  return url.startsWith("/");
}

/** The last valid Host: nearly all requests have the same, and parsing takes as long as routing. */
let lastHost = "localhost";

/** Pages that may call the gateway, by the exact origins that browsers send, or by what origins look like. */
export type Origins = readonly (string | RegExp)[];

/** Pages that a server on this machine serves, such as that of a bundler while a frontend is written. */
export const LOCAL_PAGES = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/**
 * Whether a page is one of the gateway's own at this machine. A name that is rebound to this machine looks like an own page as well,
 * but not like this machine.
 */
export const isOwnLocalPage = (origin: string, host: string | undefined): boolean =>
  LOCAL_PAGES.test(origin) && new URL(origin).host === host;

export const isAmong = (origins: Origins, origin: string): boolean =>
  origins.some((each) => (typeof each === "string" ? each === origin : each.test(origin)));
