import type { IncomingMessage } from "node:http";
import { createLive, type LiveSettings } from "../../live/live.ts";
import { RequestScope } from "../../request-scope.ts";
import type { Delivery } from "../delivery.ts";
import { type ContextSettings, OperationContext } from "../operation.ts";
import { createEventStreams } from "./event-stream.ts";
import { createWebSockets, type SocketSettings } from "./web-socket.ts";
import type { OpenStream } from "../../engine/subscription.ts";
import { UNPACED } from "../../rest/session/batches.ts";

interface Settings extends LiveSettings, Omit<SocketSettings, "openStream" | "openContext"> {
  readonly delivery: Delivery;
  readonly contexts: ContextSettings;
}

/** Creates the polls and the transports of subscriptions: event streams and WebSockets. */
export function createSubscriptions({ contexts, ...settings }: Settings) {
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
        const event = new RequestScope(identity, settings.requestTimeoutMs);
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
  const webSockets = createWebSockets({ ...settings, openStream, openContext });
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
