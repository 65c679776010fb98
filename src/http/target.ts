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

/** Whether the target and Host form a URL. Yoga's adapter would respond with a stack trace if not. */
export function hasValidUrl({ url = "", headers: { host = "localhost" } }: IncomingMessage): boolean {
  const target = `${host} ${url}`;
  if (target === lastValid) return true;
  const isValid =
    HOST.test(host) &&
    url.startsWith("/") &&
    URL.canParse(`http://${host}${url}`) &&
    URL.canParse(url, `http://${host}`);
  if (isValid) lastValid = target;
  return isValid;
}

/** The last valid Host and target: nearly all requests have the same, and parsing takes as long as routing. */
let lastValid = "";
