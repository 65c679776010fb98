import type { AnyEndpoint } from "../rest/api/endpoint.ts";
import type { Session } from "../rest/session/session.ts";
import type { Poll } from "./poll-scheduler.ts";
import { LiveStream } from "./stream.ts";

export interface Source {
  /** The key of the poll: subscribers with the same token and key share it. */
  readonly key: string;
  /** The endpoint of most reads of the poll. All reads of the poll are counted towards its upstream rate limit. */
  readonly endpoint: AnyEndpoint;
}

/** A value that subscribers watch. Methods have bivariant parameters, which logs need, because they follow runs of any type. */
export interface StateSource<State extends object> extends Source, Pick<Poll, "batchKey"> {
  /** Reads the value; returns `before` if nothing has changed. `isSeen`: whether all subscribers have taken all events of `before`. */
  read(session: Session, before: State | null, isSeen: boolean): Promise<State>;
  isFinal(state: State): boolean;
  /** Estimates how much memory a state takes between polls, in bytes. */
  bytesOf(state: State): number;
}

/** Sets the number of bytes that a poll retains between its reads. Throws `GatewayError` above the limit of the caller. */
export type ChargeRetained = (bytes: number) => void;

/** Returns the next event of a state for one subscriber; null if there is none. Each state has a different `version`. */
export type NextEvent<State, Event> = (state: State, version: number) => Event | null;

/** A subscriber, or another poll that needs the state. */
interface Follower extends Pick<LiveStream<unknown>, "fail"> {
  /** Whether the follower has taken every event of the current state. */
  readonly hasSeen?: () => boolean;
  /** Called after each read, successful or not. */
  readonly onRead: (isFinal: boolean) => void;
}

/** Creates the poll of a value. The poll keeps only the latest state, so a slow subscriber costs no memory. */
export function createStatePoll<State extends object>(
  source: StateSource<State>,
  chargeRetained: ChargeRetained,
) {
  const followers = new Set<Follower>();
  let state: State | null = null;
  let version = 0;
  let latenessMs = 0;
  let wasRead = false;
  let isDone = false;

  const remove = (follower: Follower): void => {
    followers.delete(follower);
    if (followers.size === 0) chargeRetained(0);
  };

  const subscribe = <Event>(next: NextEvent<State, Event>, onEnd: () => void): LiveStream<Event> => {
    let seen = 0;
    const stream = new LiveStream<Event>({
      take: () => {
        const event = state && next(state, version);
        if (event === null) seen = version;
        return event;
      },
      latenessMs: () => latenessMs,
      onWait: () => {},
      onEnd: () => {
        remove(follower);
        onEnd();
      },
    });
    const follower: Follower = {
      hasSeen: () => seen === version,
      onRead: (isFinal) => (isFinal ? stream.end() : stream.wake()),
      fail: (error, isLast) => stream.fail(error, isLast),
    };
    follow(follower);
    return stream;
  };

  /** Adds a follower, and calls its `onRead` at once if the value was read before. Returns a function that removes the follower. */
  const follow = (follower: Follower): (() => void) => {
    followers.add(follower);
    if (wasRead) follower.onRead(isDone);
    return () => remove(follower);
  };

  const poll: Poll = {
    batchKey: source.batchKey,
    // A final state is not read again, even if subscribers have not taken it yet.
    isWanted: () => followers.size > 0 && !isDone,
    isOver: () => isDone,
    read: async (session, latenessNow) => {
      const before = state;
      try {
        const isSeen = [...followers].every(({ hasSeen }) => hasSeen?.() ?? true);
        const now = await source.read(session, before, isSeen);
        latenessMs = latenessNow();
        // If the last follower has left during the read, nothing is charged, because nothing would release the bytes.
        if (now === before || followers.size === 0) return false;
        chargeRetained(source.bytesOf(now));
        state = now;
        version++;
        isDone = source.isFinal(now);
        // Reads that events cause from now on must not return older responses.
        session.endSharing();
        return true;
      } finally {
        wasRead = true;
        for (const follower of followers) follower.onRead(isDone);
      }
    },
    streams: () => followers,
  };
  return { ...poll, subscribe, follow };
}
