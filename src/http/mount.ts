import type { IncomingMessage } from "node:http";

/** A request of a server in which the gateway is mounted. Express and Connect keep its whole URL when they cut it. */
type MountedRequest = IncomingMessage & { originalUrl?: string };

const PREFIX = /^(?:\/[\w.~-]+)*$/;

/** Checks the path of a mount: `/rungraph`, or an empty text. Throws `TypeError`. */
export function checkPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix;
  throw new TypeError(`prefix: expected a path such as /rungraph, got ${JSON.stringify(prefix)}`);
}

/**
 * Where the URL of a request leads: `below` the prefix, which is then cut off; to the `top`, the prefix itself; or
 * `elsewhere`. Without a prefix everything is below it.
 */
export function cutPrefix(request: MountedRequest, prefix: string): "below" | "top" | "elsewhere" {
  if (prefix === "") return "below";
  const url = request.originalUrl ?? request.url ?? "";
  if (url.split("?", 1)[0] === prefix) return "top";
  if (!url.startsWith(`${prefix}/`)) return "elsewhere";
  request.originalUrl = url;
  request.url = url.slice(prefix.length);
  return "below";
}
