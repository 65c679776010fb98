import type { IncomingMessage } from "node:http";

/**
 * All paths that the gateway serves. A path that ends with a slash stands for all paths below. The proxies in `deploy/` forward these
 * paths.
 */
export const PATHS = {
  root: "/",
  graphql: "/graphql",
  mcp: "/mcp",
  pageFiles: "/graphiql/",
  downloads: "/downloads/",
  exports: "/export/",
  alive: "/healthz",
  ready: "/readyz",
  metrics: "/metrics",
} as const;

/** Endpoints that are also served with a slash at the end, which some clients and proxies add. */
const WITH_SLASH = new Set<string>([`${PATHS.graphql}/`, `${PATHS.mcp}/`]);

/** The path of a request without its query string, and without the slash at the end of an endpoint. */
export function pathOf({ url = "" }: IncomingMessage): string {
  const path = url.split("?", 1)[0] ?? "";
  return WITH_SLASH.has(path) ? path.slice(0, -1) : path;
}
