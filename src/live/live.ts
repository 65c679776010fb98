import { randomUUID } from "node:crypto";
import type { Caller, Callers } from "../caller.ts";
import { Rate } from "../rate.ts";
import type { Identity } from "../request-scope.ts";
import { type AppendSource, createAppendPoll, readAppended } from "./append-poll.ts";
import type { Clock } from "../clock.ts";
import { createStatePoll, readStates, type SharedPoll, type StateSource } from "./state-poll.ts";
import type { LiveStream } from "./stream.ts";
import { createTicker, type Ticker, type TickSession } from "./ticker.ts";

export interface LiveSettings {
  readonly callers: Callers;
  readonly clock: Clock;
  /** Maximum upstream requests of one token's subscriptions in a minute. */
  readonly requestsPerMinute: number;
  /** Opens the session of a tick, which sends at most so many upstream requests and calls `onRequest` for each. */
  readonly openSession: (identity: Identity, requests: number, onRequest: () => void) => TickSession;
}

/** The polls of one token. */
export interface CallerLive {
  /** Subscribes to a value. `next` returns the next event of a state for this subscriber; null when it has seen it all. */
  readonly watch: <State extends object, Event>(
    source: StateSource<State>,
    next: (state: State) => Event | null,
  ) => LiveStream<Event>;
  /** Subscribes to what is appended to something, from a position on. */
  readonly tail: <Position, Item>(
    source: AppendSource<Position, Item>,
    position: Position,
  ) => LiveStream<Item>;
}

/** Polls the service for the subscriptions of all tokens. Tokens share nothing. */
export interface Live {
  readonly of: (caller: Caller) => CallerLive;
  /** Counts an upstream request that an event of the caller causes. */
  readonly spend: (caller: Caller) => void;
  /** Number of things that are polled. */
  readonly polls: () => number;
}

/** A poll that subscribers can join. */
interface Joinable {
  readonly poll: SharedPoll<never>;
}

/** A poll in the ticker of its token. */
interface Shared {
  readonly joined: Joinable;
  readonly timing: ReturnType<Ticker["add"]>;
}

/** What is kept for one token, from its first subscription on until a minute after its last poll: reconnecting renews nothing. */
interface Polls {
  readonly ticker: Ticker;
  readonly rate: Rate;
  readonly shared: Map<string, Shared>;
  /** Whether a timer will forget it: one is enough, however often its subscribers come and go. */
  isLeaving: boolean;
}

const MINUTE_MS = 60_000;

/** The share of a minute's requests that may be sent at once. */
const AT_ONCE = 0.5;

export function createLive({ callers, clock, requestsPerMinute, openSession }: LiveSettings): Live {
  const room = callers.room((caller): Polls => {
    const rate = new Rate({ requests: requestsPerMinute, periodMs: MINUTE_MS }, AT_ONCE);
    // Subscribers with the same token share the requests, so none of their own ids is right.
    const identity: Identity = { caller, requestId: randomUUID(), traceparent: null };
    const ticker = createTicker({
      clock,
      rate,
      openSession: (requests) => openSession(identity, requests, () => rate.spend(clock.now())),
    });
    return { ticker, rate, shared: new Map(), isLeaving: false };
  });

  const forget = (caller: Caller, polls: Polls): void => {
    if (caller.partIn(room) !== polls || polls.isLeaving || polls.ticker.size() > 0) return;
    if (polls.rate.sent(clock.now()) === 0) return caller.leave(room);
    polls.isLeaving = true;
    clock.after(MINUTE_MS, () => {
      polls.isLeaving = false;
      forget(caller, polls);
    });
  };

  /** Joins the poll of a key. `leave` removes the poll with its last subscriber. */
  const join = <Poll extends Joinable>(caller: Caller, key: string, create: () => Poll) => {
    const polls = caller.partIn(room) ?? caller.enter(room);
    const { shared, ticker } = polls;
    const existing = shared.get(key);
    const usable = existing?.joined.poll.isOver() ? undefined : existing;
    // Safe: a key belongs to one source.
    const joined = (usable?.joined as Poll | undefined) ?? create();
    const timing = usable?.timing ?? ticker.add(joined.poll);
    if (!usable) shared.set(key, { joined, timing });
    const leave = (): void => {
      if (joined.poll.size() > 0) return;
      timing.remove();
      if (shared.get(key)?.timing === timing) shared.delete(key);
      if (shared.size === 0) forget(caller, polls);
    };
    return { joined, timing, leave };
  };

  return {
    of: (caller) => ({
      watch: (source, next) => {
        const { joined, timing, leave } = join(caller, source.key, () => createStatePoll(source));
        const stream = readStates(joined, next, leave);
        timing.wake();
        return stream;
      },
      tail: (source, position) => {
        const { joined, timing, leave } = join(caller, source.key, () => createAppendPoll(source, clock));
        return readAppended(joined, position, {
          onWait: (isBehind) => (isBehind ? timing.readSoon() : timing.wake()),
          onEnd: leave,
        });
      },
    }),
    spend: (caller) => caller.partIn(room)?.rate.spend(clock.now()),
    polls: () => room.parts().reduce((sum, { ticker }) => sum + ticker.size(), 0),
  };
}
