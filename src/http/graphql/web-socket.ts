import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Engine, OperationFacts } from "../../engine/engine.ts";
import type { OpenStream } from "../../engine/subscription.ts";
import type { OperationReport } from "../../observability/telemetry.ts";
import { RequestScope } from "../../request-scope.ts";
import { identify } from "../caller.ts";
import { refuseUpgrade } from "../upgrade.ts";
import type { ConcurrencyLimit } from "../concurrency-limit.ts";
import type { createWebSocketServer, WebSocketSettings } from "./web-socket-server.ts";

interface Settings extends Omit<WebSocketSettings, "begin"> {
  readonly engine: Engine;
  /** Limits the connections at a time. */
  readonly connections: ConcurrencyLimit;
  /** Origins whose pages may connect, besides the gateway's own. */
  readonly origins: readonly string[];
  readonly requestTimeoutMs: number;
  /** Opens the stream of a subscription that came with these headers. */
  readonly openStream: (request: IncomingMessage, scope: RequestScope) => OpenStream;
  readonly onOperation: (report: OperationReport, headers: IncomingHttpHeaders) => void;
}

export interface WebSockets {
  /** Accepts or rejects a connection. A listener for `upgrade` of `node:http`. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Closes all connections. */
  readonly drain: () => void;
}

/** Accepts WebSockets at `/graphql`, for subscriptions only. Loads the protocol with the first connection. */
export function createWebSockets(settings: Settings): WebSockets {
  const { engine, connections, origins, requestTimeoutMs } = settings;
  let server: ReturnType<typeof createWebSocketServer> | null = null;
  let isDraining = false;

  const begin: WebSocketSettings["begin"] = async (request, params) => {
    const identity = identify(request);
    const { requestId } = identity;
    const began = performance.now();
    const facts: OperationFacts = { type: "invalid", name: null, codes: [] };
    const scope = new RequestScope(identity, requestTimeoutMs);
    const openStream = () => settings.openStream(request, scope);
    const opened = await engine.subscribe({ scope, params, facts, openStream });
    scope.end("done");
    const { upstreamRequests } = scope;
    settings.onOperation(
      { requestId, ...facts, upstreamRequests, ms: performance.now() - began },
      request.headers,
    );
    if (!("results" in opened)) return engine.finish(opened, requestId).errors ?? [];
    const { results } = opened;
    const finished = {
      next: async () => {
        const next = await results.next();
        return next.done ? next : { done: false, value: engine.finish(next.value, requestId) };
      },
      return: results.return,
      [Symbol.asyncIterator]: () => finished,
    };
    return finished;
  };

  /** The status that rejects a connection; null when it is accepted. */
  const rejectionOf = (request: IncomingMessage): number | null => {
    const { url = "", headers } = request;
    if (url.split("?", 1)[0] !== "/graphql") return 404;
    if (!isAllowed(headers.origin, headers.host, origins)) return 403;
    const exceeded = connections.exceededBy(identify(request).callerKey);
    if (exceeded === "perCaller") return 429;
    return isDraining || exceeded ? 503 : null;
  };

  const accept: (...given: Parameters<WebSockets["upgrade"]>) => Promise<void> = async (...given) => {
    const { createWebSocketServer } = await import("./web-socket-server.ts");
    server ??= createWebSocketServer({ ...settings, begin });
    server.upgrade(...given);
    if (isDraining) server.drain();
  };

  return {
    upgrade: (request, socket, head) => {
      socket.on("error", () => socket.destroy());
      const status = rejectionOf(request);
      if (status !== null) return refuseUpgrade(socket, status);
      socket.once("close", connections.acquire(identify(request).callerKey));
      void accept(request, socket, head);
    },
    drain: () => {
      isDraining = true;
      server?.drain();
    },
  };
}

/**
 * Whether a page of this origin may connect. Browsers apply no CORS to WebSockets. Programs send no origin. The scheme is
 * not compared: behind a proxy it is not known.
 */
const isAllowed = (
  origin: string | undefined,
  host: string | undefined,
  origins: readonly string[],
): boolean =>
  origin === undefined || origins.includes(origin) || (URL.canParse(origin) && new URL(origin).host === host);
