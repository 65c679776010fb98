import type { IncomingMessage } from "node:http";

/** A request of a server in which the gateway is mounted. Express and Connect keep its whole URL when they cut it. */
type MountedRequest = IncomingMessage & { originalUrl?: string };

const PREFIX = /^(?:\/[\w.~-]+)*$/;

/** Checks the path of a mount: `/rungraph`, or an empty text. Throws `TypeError`. */
export function checkPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix;
  throw new TypeError(`prefix: expected a path such as /rungraph, got ${JSON.stringify(prefix)}`);
}

/** Whether the URL of a request is `below` the prefix, the prefix itself (`top`), or `elsewhere`. */
export function placeOf(request: MountedRequest, prefix: string): "below" | "top" | "elsewhere" {
  const url = wholeUrlOf(request);
  if (prefix !== "" && url.split("?", 1)[0] === prefix) return "top";
  return url.startsWith(`${prefix}/`) ? "below" : "elsewhere";
}

/** Cuts the prefix off the URL of a request below it, as Express does. */
export function cutPrefix(request: MountedRequest, prefix: string): void {
  if (prefix === "") return;
  const url = wholeUrlOf(request);
  request.originalUrl = url;
  request.url = url.slice(prefix.length);
}

const wholeUrlOf = ({ originalUrl, url = "" }: MountedRequest): string => originalUrl ?? url;
