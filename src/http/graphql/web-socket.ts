import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { statusOf, UpstreamError } from "../../errors.ts";
import type { Engine, Operation, OperationFacts } from "../../engine/engine.ts";
import type { PlacedContext } from "../../engine/field-source.ts";
import type { Meter } from "../../engine/meter.ts";
import type { OpenStream } from "../../engine/subscription.ts";
import type { OperationReport } from "../../observability/reports.ts";
import { traceIdOf } from "../../observability/tracing.ts";
import { RequestScope } from "../../request-scope.ts";
import type { Doors } from "../doors.ts";
import type { Identify } from "../identity.ts";
import { isAmong, type Origins } from "../origins.ts";
import type { Place } from "../places.ts";
import { refuse } from "../server.ts";
import { mayBeIncremental } from "./pieces.ts";
import { runInPieces } from "./web-socket-pieces.ts";
import type { createWebSocketServer, WebSocketSettings } from "./web-socket-server.ts";

export interface SocketSettings extends Omit<WebSocketSettings, "begin"> {
  readonly engine: Engine;
  readonly identify: Identify;
  readonly doors: Doors;
  /** Origins whose pages may connect, besides the gateway's own. */
  readonly origins: Origins;
  readonly requestTimeoutMs: number;
  /** Opens the stream of a subscription that came with these headers. */
  readonly openStream: (request: IncomingMessage, scope: RequestScope) => OpenStream;
  /** Opens the context of a query that came with these headers. */
  readonly openContext: (request: IncomingMessage, scope: RequestScope, pacing: Meter) => PlacedContext;
  readonly onOperation: (report: OperationReport, headers: IncomingHttpHeaders) => void;
}

export interface WebSockets {
  /** Accepts or rejects a connection. A listener for `upgrade` of `node:http`. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Closes all connections for good, so that clients connect again elsewhere. */
  readonly drain: () => void;
}

/** Accepts WebSockets at `/graphql`, for subscriptions and for queries in pieces. Loads the protocol with the first connection. */
export function createWebSockets(settings: SocketSettings): WebSockets {
  const { engine, identify, doors, origins, requestTimeoutMs } = settings;
  let server: ReturnType<typeof createWebSocketServer> | null = null;
  let isDraining = false;

  const begin: WebSocketSettings["begin"] = async (request, params, onBegin) => {
    const identity = identify(request);
    const { requestId, caller } = identity;
    const traceId = traceIdOf(identity.traceparent);
    const began = performance.now();
    const facts: OperationFacts = { type: "invalid", name: null, hash: null, codes: [], failed: [] };
    const scope = new RequestScope(identity, requestTimeoutMs);
    onBegin(() => scope.end("left"));
    const onEnd = () => {
      scope.end("done");
      const { upstreamRequests } = scope;
      settings.onOperation(
        {
          requestId,
          traceId,
          caller,
          ...facts,
          status: null,
          upstreamRequests,
          ms: performance.now() - began,
        },
        request.headers,
      );
    };
    if (mayBeIncremental(params) && (await engine.typeOf(params, scope)) === "query") {
      const openContext: Operation["openContext"] = (pacing) => {
        const rejection = doors.admit("operation", scope);
        if (rejection) throw rejection;
        return settings.openContext(request, scope, pacing);
      };
      const operation = { scope, facts, openContext, extensions: null };
      return runInPieces(operation, params, { engine, onEnd });
    }
    const openStream = () => settings.openStream(request, scope);
    const opened = await engine.subscribe({ scope, params, facts, openStream });
    onEnd();
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

  const accept = async (place: Place, ...given: Parameters<WebSockets["upgrade"]>): Promise<void> => {
    const { createWebSocketServer } = await import("./web-socket-server.ts");
    server ??= createWebSocketServer({ ...settings, begin });
    server.upgrade(place, ...given);
    if (isDraining) server.drain();
  };

  /** The status that rejects a connection by its path or origin; null when it may have a place. */
  const rejectionOf = ({ url = "", headers }: IncomingMessage): number | null => {
    if (url.split("?", 1)[0] !== "/graphql") return 404;
    return isAllowed(headers.origin, headers.host, origins) ? null : 403;
  };

  return {
    upgrade: (request, socket, head) => {
      socket.on("error", () => socket.destroy());
      const status = rejectionOf(request);
      if (status !== null) return refuse(socket, status);
      const place = doors.take("socket", identify(request).caller);
      if (place instanceof UpstreamError) return refuse(socket, statusOf(place.code));
      socket.once("close", () => place.release());
      void accept(place, request, socket, head);
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
const isAllowed = (origin: string | undefined, host: string | undefined, origins: Origins): boolean =>
  origin === undefined || isAmong(origins, origin) || (URL.canParse(origin) && new URL(origin).host === host);
