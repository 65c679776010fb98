import type { Session } from "../rest/session/session.ts";
import type { Poll } from "./ticker.ts";
import { LiveStream } from "./stream.ts";

/** A value of the service that subscribers watch. */
export interface StateSource<State extends object> {
  /** Identifies the value: subscribers with the same token and key share a poll. */
  readonly key: string;
  /** Reads the value. Returns the same object as before when nothing has changed. */
  readonly read: (session: Session, before: State | null) => Promise<State>;
  readonly isFinal: (state: State) => boolean;
}

/** Creates the poll of a value. It holds only the latest state, so that a slow subscriber costs no memory. */
export function createStatePoll<State extends object>({ read, isFinal }: StateSource<State>) {
  const streams = new Set<LiveStream<unknown>>();
  let state: State | null = null;
  let isDone = false;

  /** Subscribes. `next` returns the next event of a state for this subscriber; null when it has seen it all. */
  const subscribe = <Event>(next: (state: State) => Event | null, onEnd: () => void): LiveStream<Event> => {
    const stream = new LiveStream<Event>({
      take: () => state && next(state),
      onWait: () => {},
      onEnd: () => {
        streams.delete(stream);
        onEnd();
      },
    });
    streams.add(stream);
    if (isDone) stream.end();
    return stream;
  };

  const poll: Poll = {
    // Subscribers may take their time to read the final state.
    isWanted: () => streams.size > 0 && !isDone,
    read: async (session) => {
      const before = state;
      state = await read(session, before);
      if (state === before) return false;
      isDone = isFinal(state);
      // What is read for the events must not be older than they are.
      session.endSharing();
      for (const stream of streams) {
        stream.wake();
        if (isDone) stream.end();
      }
      return true;
    },
    streams: () => [...streams],
  };
  return { ...poll, subscribe };
}
