import type { Session } from "../rest/session/session.ts";
import type { Poll } from "./ticker.ts";
import { type LiveStream, openStream, type Reader } from "./stream.ts";

/** A value of the service that subscribers watch. */
export interface StateSource<State extends object> {
  /** Identifies the value: subscribers with the same token and key share a poll. */
  readonly key: string;
  /** Reads the value. Returns the same object as before when nothing has changed. */
  readonly read: (session: Session, before: State | null) => Promise<State>;
  /** Whether the value will not change any more. */
  readonly isFinal: (state: State) => boolean;
}

/** A poll that several subscribers share. */
export interface SharedPoll extends Poll {
  /** Number of subscribers. */
  readonly size: () => number;
  /** Whether it has failed for good: nobody can join it any more. */
  readonly isOver: () => boolean;
}

/** Creates the poll of a value. It holds only the latest state, so that a slow subscriber costs no memory. */
export function createStatePoll<State extends object>({ read, isFinal }: StateSource<State>) {
  const readers = new Set<Reader>();
  let state: State | null = null;
  /** Whether the state will not change any more, and whether the poll has failed for good. */
  let [isDone, isOver] = [false, false];

  /** Subscribes. `next` returns the next event of a state for this subscriber; null when it has seen it all. */
  const subscribe = <Event>(next: (state: State) => Event | null, onEnd: () => void): LiveStream<Event> => {
    const { stream, reader } = openStream<Event>({
      take: () => state && next(state),
      onWait: () => {},
      onEnd: () => {
        readers.delete(reader);
        onEnd();
      },
    });
    readers.add(reader);
    if (isDone) reader.end();
    return stream;
  };

  const poll: SharedPoll = {
    // Subscribers may take their time to read the final state.
    isWanted: () => readers.size > 0 && !isDone,
    read: async (session) => {
      const before = state;
      state = await read(session, before);
      if (state === before) return false;
      isDone = isFinal(state);
      // What is read for the events must not be older than they are.
      session.endSharing();
      for (const reader of readers) {
        reader.wake();
        if (isDone) reader.end();
      }
      return true;
    },
    fail: (error, isLast) => {
      isOver ||= isLast;
      for (const reader of readers) reader.fail(error, isLast);
    },
    size: () => readers.size,
    isOver: () => isOver,
  };
  return { ...poll, subscribe };
}
