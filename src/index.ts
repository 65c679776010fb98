import type { IncomingMessage, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { readConfig } from "./config.ts";
import { createGateway as assemble } from "./gateway.ts";
import { forWebSockets, refuse, type UpgradeListener } from "./http/server.ts";
import { normalizeTarget } from "./http/request-target.ts";
import { createLog, type Log } from "./observability/log.ts";
import { openUpstream } from "./upstream.ts";

export type { Log } from "./observability/log.ts";

type Name =
  | "UPSTREAM_URL"
  | "UPSTREAM_PROFILE"
  | "DEMO"
  | "UPSTREAM_HEADERS"
  | "UPSTREAM_PROXY"
  | "UPSTREAM_CA_FILE"
  | "UPSTREAM_CERT_FILE"
  | "UPSTREAM_KEY_FILE"
  | "PUBLIC_URL"
  | "CORS_ORIGINS"
  | "TRUSTED_PROXIES"
  | "MAX_BODY_BYTES"
  | "DRAIN_TIMEOUT_MS"
  | "METRICS"
  | "FIELD_METRICS"
  | "LOG_LEVEL"
  | "CALLER_SALT"
  | "GRAPHIQL"
  | "EXPLAIN"
  | "INTROSPECTION"
  | "TYPE_NAMES"
  | "TRUSTED_DOCUMENTS"
  | "MCP"
  | "REQUEST_TIMEOUT_MS"
  | "UPSTREAM_TIMEOUT_MS"
  | "UPSTREAM_RATE_LIMIT"
  | "UPSTREAM_CONNECTIONS"
  | "UPSTREAM_CONNECTIONS_PER_TOKEN"
  | "CACHE_TTL_MS"
  | "STALE_MAX_AGE_MS"
  | "MAX_UPSTREAM_REQUESTS"
  | "MAX_JSON_BYTES"
  | "MAX_PAGE_SIZE"
  | "MAX_DEPTH"
  | "MAX_FIELDS"
  | "MAX_RESULT_BYTES"
  | "MAX_OPERATIONS"
  | "MAX_OPERATIONS_PER_TOKEN"
  | "MAX_SUBSCRIPTIONS"
  | "LIVE_REQUESTS_PER_MINUTE";

/**
 * Settings of a gateway that is mounted in another server. They have the names and values of the environment variables in docs/settings.md.
 * Any setting may also be given as `NAME_FILE`, the path of a file with its value.
 */
export type Settings = { readonly [_ in Name | `${Name}_FILE`]?: string | number | undefined };

export interface GatewayOptions {
  /** Path below which the server mounts the gateway, such as `/rungraph`. Empty by default, so that GraphQL is at `/graphql`. */
  readonly prefix?: string;
  /**
   * Receives the log lines of all levels. By default, lines from `LOG_LEVEL` on are written to standard output, as JSON unless the output is
   * a terminal.
   */
  readonly log?: Log;
}

/** A gateway in a server of `node:http` or `node:https`. */
export interface Gateway {
  /** Answers requests: GraphQL, GraphiQL, downloads, probes and metrics. Answers other paths with 404. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Accepts WebSockets: `server.on("upgrade", gateway.upgrade)`. WebSockets for other paths are left to other listeners of the server. If
   * all listeners are gateways, the first one rejects such WebSockets with 404.
   */
  readonly upgrade: (this: unknown, request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * Ends subscriptions, waits at most `DRAIN_TIMEOUT_MS` for open requests, and closes the connections to the service. Call it when the
   * server stops accepting connections.
   */
  readonly close: () => Promise<void>;
}

/**
 * Creates a gateway for a server of your own. Without `UPSTREAM_URL`, starts the embedded demo service; in production, only with `DEMO:
 * "on"`. Rejects if settings are invalid; the message has a line for each issue.
 */
export async function createGateway(settings: Settings = {}, options: GatewayOptions = {}): Promise<Gateway> {
  const { prefix = "" } = options;
  if (!PREFIX.test(prefix))
    throw new TypeError(`prefix: expected a path such as /rungraph, got ${JSON.stringify(prefix)}`);
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  const texts = Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
  const config = readConfig({ NODE_ENV: process.env["NODE_ENV"], ...texts });
  const { log, close: closeLog } = options.log
    ? { log: options.log, close: () => {} }
    : createLog(config.LOG_LEVEL);
  const { demo, options: upstream } = await openUpstream(config);
  const gateway = assemble({ ...upstream, log, prefix });
  const listen = forWebSockets((request, socket, head) => {
    if (cutPrefix(request, prefix)) gateway.upgrade(request, socket, head);
    else refuse(socket, 404);
  });
  const close = async () => {
    await gateway.drain();
    await gateway.close();
    await demo?.close();
    closeLog();
  };
  function upgrade(this: unknown, ...[request, socket, head]: Parameters<UpgradeListener>): void {
    const listeners = this instanceof NetServer ? this.listeners("upgrade") : [];
    if (!listeners.includes(upgrade) || answererOf(listeners, request) === upgrade)
      listen.call(this, request, socket, head);
  }
  graphqlPaths.set(upgrade, `${prefix}/graphql`);
  let closed: Promise<void> | null = null;
  return {
    handler: (request, response) => {
      normalizeTarget(request);
      if (cutPrefix(request, prefix)) gateway.handle(request, response);
      else if (pathOf(request) === prefix)
        // The location is relative, because a proxy may serve the server under a path prefix.
        response.writeHead(307, { location: `${prefix.slice(prefix.lastIndexOf("/") + 1)}/graphql` }).end();
      else response.writeHead(404).end();
    },
    upgrade,
    close: async () => {
      closed ??= close();
      await Promise.race([closed, wait(config.DRAIN_TIMEOUT_MS, null, { ref: false })]);
    },
  };
}

/** The GraphQL path of each gateway, by the gateway's listener for `upgrade`. */
const graphqlPaths = new WeakMap<object, string>();

/**
 * The listener for `upgrade` that handles a request: the listener of the gateway at the request's path. If no gateway has this path and all
 * listeners are gateways, the first one rejects the request, so that the socket does not stay open.
 */
function answererOf(listeners: readonly object[], request: IncomingMessage): object | undefined {
  const path = pathOf(request);
  const own = listeners.find((each) => graphqlPaths.get(each) === path);
  return own ?? (listeners.every((each) => graphqlPaths.has(each)) ? listeners[0] : undefined);
}

/** Express and Connect remove the path of a mount from `url`, and keep the whole URL in `originalUrl`. */
type MountedRequest = IncomingMessage & { originalUrl?: string };

/** Matches the path of a mount: `/rungraph`, or an empty string. */
const PREFIX = /^(?:\/[\w.~-]+)*$/;

/** Removes the prefix from the URL of a request, as Express does. Returns false if the URL is not below the prefix. */
function cutPrefix(request: MountedRequest, prefix: string): boolean {
  const url = wholeUrlOf(request);
  if (!url.startsWith(`${prefix}/`)) return false;
  if (prefix !== "") Object.assign(request, { originalUrl: url, url: url.slice(prefix.length) });
  return true;
}

const wholeUrlOf = ({ originalUrl, url = "" }: MountedRequest): string => originalUrl ?? url;

const pathOf = (request: MountedRequest): string | undefined => wholeUrlOf(request).split("?", 1)[0];
