import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { GraphQLSchema } from "graphql";
import type { Engine } from "../../engine/engine.ts";
import { createLive, type LiveSettings } from "../../live/live.ts";
import type { OperationReport } from "../../observability/reports.ts";
import { RequestScope } from "../../request-scope.ts";
import type { Identify } from "../identity.ts";
import type { Doors } from "../doors.ts";
import type { Delivery } from "../delivery.ts";
import { type ContextSettings, OperationContext } from "../operation.ts";
import type { Origins } from "../origins.ts";
import { createEventStreams } from "./event-stream.ts";
import { createWebSockets, type SocketSettings } from "./web-socket.ts";
import type { OpenStream } from "../../engine/subscription.ts";
import { UNPACED } from "../../rest/session/batches.ts";

interface Settings extends LiveSettings {
  readonly schema: GraphQLSchema;
  readonly engine: Engine;
  readonly identify: Identify;
  readonly delivery: Delivery;
  readonly doors: Doors;
  /** Deadline of one event, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** How long a client of a WebSocket may not read, in milliseconds. */
  readonly readTimeoutMs: number;
  /** Longest message of a WebSocket, in bytes. */
  readonly maxBytes: number;
  readonly origins: Origins;
  readonly contexts: ContextSettings;
  readonly onOperation: (report: OperationReport, headers: IncomingHttpHeaders) => void;
}

/** Creates the polls and the transports of subscriptions: event streams and WebSockets. */
export function createSubscriptions({ requestTimeoutMs, contexts, ...settings }: Settings) {
  const live = createLive(settings);

  /** Opens the stream of a subscription for which `asking` asks: the scope of the request that it came with. */
  const openStream = (request: IncomingMessage, asking: RequestScope): OpenStream => {
    const { caller, requestId, traceparent } = asking;
    const identity = { caller, requestId, traceparent };
    const rejection = settings.doors.admit("stream", asking);
    if (rejection) throw rejection;
    // Only the end of the stream ends its scope.
    const scope = new RequestScope(identity, Number.POSITIVE_INFINITY);
    asking.passOn(scope);
    const source = { request, scope: asking, pacing: UNPACED, onRequest: null, notes: null };
    const onRequest = () => live.spend(caller);
    return {
      scope,
      context: Object.assign(new OperationContext(contexts, source), { live: live.of(caller) }),
      openEvent: () => {
        const event = new RequestScope(identity, requestTimeoutMs);
        return {
          scope: event,
          openContext: (pacing) =>
            new OperationContext(contexts, { request, scope: event, pacing, onRequest, notes: null }),
        };
      },
    };
  };

  const openContext: SocketSettings["openContext"] = (request, scope, pacing) =>
    new OperationContext(contexts, { request, scope, pacing, onRequest: null, notes: null });
  const streams = createEventStreams(settings);
  const webSockets = createWebSockets({ ...settings, openStream, openContext, requestTimeoutMs });
  return {
    streams,
    openStream,
    upgrade: webSockets.upgrade,
    /** Ends all streams for good, so that clients subscribe again elsewhere. */
    drain: (): void => {
      streams.drain();
      webSockets.drain();
    },
    polls: () => live.polls(),
  };
}

export type Subscriptions = ReturnType<typeof createSubscriptions>;
