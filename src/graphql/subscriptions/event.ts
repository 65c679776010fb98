import { Fault, type LiveStream } from "../../live/stream.ts";
import type { Context, StreamContext } from "../core/context.ts";

/**
 * The functions of a subscription field: `subscribe` opens its events, and `resolve` is called for each with a context of
 * its own. A failed poll is an error at the field: `{ ...eventsOf(open) }`.
 */
export const eventsOf = <Event, Args>(open: (args: Args, context: StreamContext) => LiveStream<Event>) => ({
  subscribe: (_: unknown, args: Args, context: Context): LiveStream<Event> => {
    context.session.requireToken();
    // Safe: subscriptions begin in no other context.
    return open(args, context as StreamContext);
  },
  resolve: (event: Event | Fault): Event => {
    if (event instanceof Fault) throw event.error;
    return event;
  },
});
