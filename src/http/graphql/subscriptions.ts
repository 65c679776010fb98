import type { IncomingMessage } from "node:http";
import type { OpenStream } from "../../engine/subscription.ts";
import { createLive, type LiveSettings } from "../../live/live.ts";
import { RequestScope } from "../../request-scope.ts";
import { UNPACED } from "../../rest/session/batches.ts";
import { type ContextSettings, OperationContext } from "../operation.ts";

interface Settings extends Pick<LiveSettings, "callers" | "clock" | "requestsPerMinute"> {
  readonly contexts: ContextSettings;
  /** Deadline of one event, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** Creates the polls of subscriptions, and opens their streams for any transport. */
export function createSubscriptions({ contexts, requestTimeoutMs, ...settings }: Settings) {
  const { doors, bounds } = contexts;
  const live = createLive({ ...settings, ...contexts, width: bounds.width, timeoutMs: requestTimeoutMs });
  return {
    /** Opens the stream of a subscription for which `asking` asks: the scope of the request that it came with. */
    openStream: (request: IncomingMessage, asking: RequestScope): OpenStream => {
      const { caller, requestId, traceparent } = asking;
      const identity = { caller, requestId, traceparent };
      const rejection = doors.admit("stream", asking);
      if (rejection) throw rejection;
      // Only the end of the stream ends its scope.
      const scope = new RequestScope(identity, Number.POSITIVE_INFINITY);
      asking.passOn(scope);
      const source = { request, scope: asking, pacing: UNPACED, onRequest: null, journal: null };
      const onRequest = () => live.spend(caller);
      return {
        scope,
        context: Object.assign(new OperationContext(contexts, source), { live: live.of(caller) }),
        openEvent: () => {
          const event = new RequestScope(identity, requestTimeoutMs);
          return {
            scope: event,
            openContext: (pacing) =>
              new OperationContext(contexts, { request, scope: event, pacing, onRequest, journal: null }),
          };
        },
      };
    },
    polls: () => live.polls(),
  };
}
