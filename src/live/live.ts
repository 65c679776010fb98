import { randomUUID } from "node:crypto";
import type { Caller, Callers } from "../caller.ts";
import { Rate } from "../rate.ts";
import { type Identity, RequestScope } from "../request-scope.ts";
import { UNPACED } from "../rest/session/batches.ts";
import { openSession, type SessionClient, type SharedSettings } from "../rest/session/session.ts";
import { type AppendSource, createAppendPoll } from "./append-poll.ts";
import type { Clock } from "../clock.ts";
import { createStatePoll, type StateSource } from "./state-poll.ts";
import { createTicker, type Poll, type Ticker } from "./ticker.ts";

export interface LiveSettings {
  readonly callers: Callers;
  readonly clock: Clock;
  /** Maximum upstream requests of one token's subscriptions in a minute. */
  readonly requestsPerMinute: number;
  readonly client: SessionClient;
  readonly shared: SharedSettings;
  /** Maximum concurrent upstream requests of a tick. */
  readonly width: number;
  /** Longest time of a tick, in milliseconds. */
  readonly timeoutMs: number;
}

export type CallerLive = ReturnType<ReturnType<typeof createLive>["of"]>;

/** What is kept for one token, also after its last subscription: connecting again renews nothing. */
interface Polls {
  readonly ticker: Ticker;
  readonly rate: Rate;
  /** By the keys of their sources. */
  readonly polls: Map<string, { readonly poll: Poll; readonly timing: ReturnType<Ticker["add"]> }>;
}

/** The share of a minute's requests that may be sent at once. */
const AT_ONCE = 0.5;

/** Polls the service for the subscriptions of all tokens. Tokens share nothing. */
export function createLive({ callers, clock, requestsPerMinute, ...settings }: LiveSettings) {
  const { client, shared, width, timeoutMs } = settings;
  /** Those that poll something. */
  const active = new Set<Ticker>();
  const kept = callers.keep((caller): Polls => {
    const rate = new Rate({ requests: requestsPerMinute, periodMs: 60_000 }, AT_ONCE);
    // Subscribers with the same token share the requests, so none of their own ids is right.
    const identity: Identity = { caller, requestId: randomUUID(), trace: null };
    const openTick = (requests: number) => {
      const scope = new RequestScope(identity, timeoutMs);
      let sent = 0;
      // Requests above the number are rejected, not sent.
      const onRequest = () => void (sent++ < requests && rate.spend(clock.now()));
      const bounds = { width, requests, yields: true, onRequest };
      const one = { shared, bounds, isFresh: true, pacing: UNPACED, journal: null };
      return { session: openSession(client, scope, one), end: () => scope.end("done") };
    };
    return { ticker: createTicker(clock, rate, openTick), rate, polls: new Map() };
  });

  /** The poll of a source since the token was accepted. `leave` removes it with its last subscriber. */
  const join = <Shared extends Poll>(caller: Caller, source: string, create: () => Shared) => {
    const key = `${caller.losses} ${source}`;
    const { polls, ticker } = kept.of(caller);
    active.add(ticker);
    const existing = polls.get(key);
    const usable = existing?.timing.isOver() ? undefined : existing;
    // Safe: a key belongs to one source.
    const poll = (usable?.poll as Shared | undefined) ?? create();
    const timing = usable?.timing ?? ticker.add(poll);
    if (!usable) polls.set(key, { poll, timing });
    const leave = (): void => {
      if (poll.streams().length > 0) return;
      timing.remove();
      if (polls.get(key)?.timing === timing) polls.delete(key);
      if (ticker.size() === 0) active.delete(ticker);
    };
    return { poll, timing, leave };
  };

  return {
    of: (caller: Caller) => ({
      /** Subscribes to a value. `next` returns the next event of a state for this subscriber; null when it has seen it all. */
      watch: <State extends object, Event>(
        source: StateSource<State>,
        next: (state: State) => Event | null,
      ) => {
        const { poll, timing, leave } = join(caller, source.key, () => createStatePoll(source));
        const stream = poll.subscribe(next, leave);
        timing.wake();
        return stream;
      },
      tail: <Position, Item>(source: AppendSource<Position, Item>, position: Position) => {
        const { poll, timing, leave } = join(caller, source.key, () => createAppendPoll(source, clock));
        const onWait = (isBehind: boolean) => (isBehind ? timing.readSoon() : timing.wake());
        return poll.subscribe(position, onWait, leave);
      },
    }),
    /** Counts an upstream request that an event of the caller causes. */
    spend: (caller: Caller) => kept.find(caller)?.rate.spend(clock.now()),
    polls: (): number => [...active].reduce((sum, ticker) => sum + ticker.size(), 0),
  };
}
