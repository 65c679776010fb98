import type { IncomingMessage } from "node:http";

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i;

/**
 * Brings a target in absolute form (`http://host/path`), which some proxies send, into origin form (`/path`). Its host
 * replaces the header `Host` (RFC 9112, section 3.2.2).
 */
export function readTarget(request: IncomingMessage): void {
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
