import type { EventExecution, OpenStream } from "../../engine/subscription.ts";
import type { Context, StreamContext } from "../../graphql/core/context.ts";
import type { Live } from "../../live/live.ts";
import { RequestScope } from "../../request-scope.ts";
import { type Pacing, UNPACED } from "../../rest/session/batches.ts";
import type { Doors } from "../doors.ts";

interface Settings {
  readonly live: Live;
  readonly doors: Pick<Doors, "admit">;
  /** Deadline of one event, in milliseconds. */
  readonly eventTimeoutMs: number;
}

/** Creates the context of the resolvers in a scope. `onRequest` is called for each upstream request. */
type OpenContext = (scope: RequestScope, pacing: Pacing, onRequest: (() => void) | null) => Context;

/** Returns a function that opens the stream of a subscription which `scope` asked for. */
export const createStreamOpener =
  ({ live, doors, eventTimeoutMs }: Settings) =>
  (request: RequestScope, openContext: OpenContext): OpenStream => {
    const { caller, requestId, traceparent } = request;
    const identity = { caller, requestId, traceparent };
    const rejection = doors.admit("stream", request);
    if (rejection) throw rejection;
    // Only the end of the stream ends its scope.
    const scope = new RequestScope(identity, Number.POSITIVE_INFINITY);
    request.passOn(scope);
    const context: StreamContext = Object.assign(openContext(request, UNPACED, null), {
      live: live.of(caller),
    });
    return {
      scope,
      context,
      openEvent: (): EventExecution => {
        const event = new RequestScope(identity, eventTimeoutMs);
        return {
          scope: event,
          openContext: (meter) => openContext(event, meter, () => live.spend(caller)),
        };
      },
    };
  };
