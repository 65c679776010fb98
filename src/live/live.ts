import { randomUUID } from "node:crypto";
import type { Identity } from "../request-scope.ts";
import { type AppendSource, createAppendPoll, readAppended } from "./append-poll.ts";
import { type Budget, createBudget } from "./budget.ts";
import type { Clock } from "./clock.ts";
import { createStatePoll, readStates, type SharedPoll, type StateSource } from "./state-poll.ts";
import type { LiveStream } from "./stream.ts";
import { createTicker, type Ticker, type TickSession } from "./ticker.ts";

export interface LiveSettings {
  readonly clock: Clock;
  /** Maximum upstream requests of one token's subscriptions in a minute. */
  readonly requestsPerMinute: number;
  /** Opens the session of a tick, which may send `requests` upstream requests and calls `onRequest` for each. */
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
  readonly of: (caller: Identity) => CallerLive;
  /** Counts an upstream request that an event of the caller causes. */
  readonly spend: (callerKey: string) => void;
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

/** What is kept for one token. */
interface Caller {
  readonly ticker: Ticker;
  readonly budget: Budget;
  readonly shared: Map<string, Shared>;
  /** Whether a timer will forget it: one is enough, however often its subscribers come and go. */
  isLeaving: boolean;
}

/** How long a token's budget is kept after its last poll, in milliseconds: reconnecting does not renew it. */
const KEPT_MS = 60_000;

export function createLive({ clock, requestsPerMinute, openSession }: LiveSettings): Live {
  const callers = new Map<string, Caller>();

  const callerOf = ({ token, callerKey }: Identity): Caller => {
    const existing = callers.get(callerKey);
    if (existing) return existing;
    const budget = createBudget(requestsPerMinute);
    // Subscribers with the same token share the requests, so none of their own ids is right.
    const identity: Identity = { token, callerKey, requestId: randomUUID(), traceparent: null };
    const ticker = createTicker({
      clock,
      budget,
      openSession: (requests) => openSession(identity, requests, () => budget.spend(clock.now())),
    });
    const caller: Caller = { ticker, budget, shared: new Map(), isLeaving: false };
    callers.set(callerKey, caller);
    return caller;
  };

  const forget = (callerKey: string): void => {
    const caller = callers.get(callerKey);
    if (!caller || caller.isLeaving || caller.ticker.size() > 0) return;
    if (caller.budget.isFull(clock.now())) {
      callers.delete(callerKey);
      return;
    }
    caller.isLeaving = true;
    clock.after(KEPT_MS, () => {
      caller.isLeaving = false;
      forget(callerKey);
    });
  };

  /** Joins the poll of a key. `leave` removes the poll with its last subscriber. */
  const join = <Poll extends Joinable>(caller: Identity, key: string, create: () => Poll) => {
    const { shared, ticker } = callerOf(caller);
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
      if (shared.size === 0) forget(caller.callerKey);
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
    spend: (callerKey) => callers.get(callerKey)?.budget.spend(clock.now()),
    polls: () => [...callers.values()].reduce((sum, { ticker }) => sum + ticker.size(), 0),
  };
}
