import type { IncomingMessage, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { readConfig } from "./config.ts";
import { createGateway as assemble } from "./gateway.ts";
import { forWebSockets, refuse, type UpgradeListener } from "./http/server.ts";
import { readTarget } from "./http/target.ts";
import { createLog, type Log } from "./observability/log.ts";
import { openUpstream } from "./service.ts";

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
 * Settings of a gateway in a server of one's own, as of the environment variables of these names: see docs/settings.md. Any
 * may come as `NAME_FILE`, the path of a file with its value.
 */
export type Settings = { readonly [_ in Name | `${Name}_FILE`]?: string | number | undefined };

export interface GatewayOptions {
  /** Path below which the server reaches the gateway, such as `/rungraph`. Empty by default: `/graphql`. */
  readonly prefix?: string;
  /** Takes the log lines of all levels. By default they go to standard output, as JSON unless that is a terminal, from `LOG_LEVEL` on. */
  readonly log?: Log;
}

/** A gateway in a server of `node:http` or `node:https`. */
export interface Gateway {
  /** Answers requests: GraphQL, GraphiQL, downloads, probes and metrics. Answers other paths with 404. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Accepts WebSockets: `server.on("upgrade", gateway.upgrade)`. Leaves those for other paths to further listeners of the
   * server; if all of those are gateways as well, rejects them with 404.
   */
  readonly upgrade: (this: unknown, request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * Ends subscriptions, waits until requests are answered, at most for `DRAIN_TIMEOUT_MS`, and closes the connections to
   * the service. Call it when the server stops accepting connections.
   */
  readonly close: () => Promise<void>;
}

/**
 * Creates a gateway for a server of your own. Without `UPSTREAM_URL` it starts the embedded demo service, in production only
 * with `DEMO: "on"`. Rejects if settings cannot be used; the message has a line for each fault.
 */
export async function createGateway(settings: Settings = {}, options: GatewayOptions = {}): Promise<Gateway> {
  const prefix = checkPrefix(options.prefix ?? "");
  const config = readConfig({ NODE_ENV: process.env["NODE_ENV"], ...asTexts(settings) });
  const { log, close: closeLog } = options.log
    ? { log: options.log, close: () => {} }
    : createLog(config.LOG_LEVEL);
  const { demo, options: upstream } = await openUpstream(config);
  const gateway = assemble({ ...upstream, log, prefix });
  const isBelow = (request: IncomingMessage) => placeOf(request, prefix) === "below";
  const listen = forWebSockets((request, socket, head) => {
    if (!isBelow(request)) return refuse(socket, 404);
    cutPrefix(request, prefix);
    gateway.upgrade(request, socket, head);
  });
  const close = async () => {
    await gateway.drain();
    await gateway.close();
    await demo?.close();
    closeLog();
  };
  function upgrade(this: unknown, ...[request, socket, head]: Parameters<UpgradeListener>): void {
    const listeners = this instanceof NetServer ? this.listeners("upgrade") : [];
    if (isAnswerer(upgrade, listeners, request)) listen.call(this, request, socket, head);
  }
  prefixes.set(upgrade, prefix);
  let closed: Promise<void> | null = null;
  return {
    handler: (request, response) => {
      readTarget(request);
      const place = placeOf(request, prefix);
      if (place === "below") {
        cutPrefix(request, prefix);
        gateway.handle(request, response);
      } else if (place === "top") {
        // Relative, as a proxy may serve the server under a path of its own.
        response.writeHead(307, { location: `${prefix.slice(prefix.lastIndexOf("/") + 1)}/graphql` }).end();
      } else {
        response.writeHead(404).end();
      }
    },
    upgrade,
    close: async () => {
      closed ??= close();
      await Promise.race([closed, wait(config.DRAIN_TIMEOUT_MS, null, { ref: false })]);
    },
  };
}

/** The prefix of each gateway, by its listener for `upgrade`. */
const prefixes = new WeakMap<object, string>();

const lengthOf = (listener: object): number => prefixes.get(listener)?.length ?? 0;

/**
 * Whether one listener for `upgrade` answers a request, of all that its server has: the gateway with the longest prefix.
 * Where no gateway is mounted, a listener of another kind may; if there is none, the first gateway does, so that no socket is
 * left open.
 */
function isAnswerer(own: object, listeners: readonly object[], request: IncomingMessage): boolean {
  if (!listeners.includes(own)) return true;
  const gateways = listeners.filter((each) => prefixes.has(each));
  const [nearest] = gateways
    .filter((each) => placeOf(request, prefixes.get(each) ?? "") === "below")
    .toSorted((a, b) => lengthOf(b) - lengthOf(a));
  if (nearest) return nearest === own;
  return gateways.length === listeners.length && gateways[0] === own;
}

const asTexts = (settings: Settings): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  );

/** A request of a server in which the gateway is mounted. Express and Connect keep its whole URL when they cut it. */
type MountedRequest = IncomingMessage & { originalUrl?: string };

const PREFIX = /^(?:\/[\w.~-]+)*$/;

/** Checks the path of a mount: `/rungraph`, or an empty text. Throws `TypeError`. */
function checkPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix;
  throw new TypeError(`prefix: expected a path such as /rungraph, got ${JSON.stringify(prefix)}`);
}

/** Whether the URL of a request is `below` the prefix, the prefix itself (`top`), or `elsewhere`. */
function placeOf(request: MountedRequest, prefix: string): "below" | "top" | "elsewhere" {
  const url = wholeUrlOf(request);
  if (prefix !== "" && url.split("?", 1)[0] === prefix) return "top";
  return url.startsWith(`${prefix}/`) ? "below" : "elsewhere";
}

/** Cuts the prefix off the URL of a request below it, as Express does. */
function cutPrefix(request: MountedRequest, prefix: string): void {
  if (prefix === "") return;
  const url = wholeUrlOf(request);
  request.originalUrl = url;
  request.url = url.slice(prefix.length);
}

const wholeUrlOf = ({ originalUrl, url = "" }: MountedRequest): string => originalUrl ?? url;
