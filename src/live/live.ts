import { randomUUID } from "node:crypto";
import type { Caller, CallerRegistry } from "../callers/callers.ts";
import type { Clock } from "../util/clock.ts";
import type { MemoryReservation, MemoryBudget } from "../callers/memory-budget.ts";
import { SlidingWindow, type RateLimit } from "../util/sliding-window.ts";
import type { AnyEndpoint } from "../rest/api/endpoint.ts";
import { type Identity, RequestScope } from "../callers/request-scope.ts";
import { UNTRACKED } from "../rest/session/batch-loader.ts";
import { openSession, type SessionClient, type SharedSettings } from "../rest/session/session.ts";
import { type OpenSession, type Poll, PollScheduler, type PollTiming } from "./poll-scheduler.ts";
import {
  type ChargeRetained,
  createStatePoll,
  type NextEvent,
  type Source,
  type StateSource,
} from "./state-poll.ts";
import { createTailPoll, type TailSource } from "./tail-poll.ts";

export interface LiveSettings {
  readonly callers: CallerRegistry;
  readonly clock: Clock;
  /** Maximum upstream requests per minute that the subscriptions of one token may send under each upstream rate limit. */
  readonly requestsPerMinute: number;
  /** The upstream rate limit that applies to an endpoint of this server; null when it is unknown. */
  readonly limitOf: (endpoint: AnyEndpoint) => RateLimit | null;
  /** The rate limit of all endpoints without a limit of their own. */
  readonly commonLimit: RateLimit | null;
  readonly client: SessionClient;
  readonly shared: SharedSettings;
  readonly memoryBudget: MemoryBudget;
  /** Maximum concurrent upstream requests of polls that are read together. */
  readonly concurrency: number;
  /** Maximum duration of a poll, in milliseconds. Waits for the rate limit do not count. */
  readonly timeoutMs: number;
}

export type CallerLive = ReturnType<ReturnType<typeof createLive>["of"]>;

interface SharedPoll {
  readonly poll: Poll;
  readonly timing: PollTiming;
  subscribers: number;
}

/** The polls of one token. This state outlives the last subscription, so that a client that reconnects does not reset the rate limit. */
interface CallerPolls {
  /** Schedulers by the upstream rate limit of their polls. */
  readonly schedulers: Map<RateLimit | null, PollScheduler>;
  /** Polls by the keys of their sources. */
  readonly polls: Map<string, SharedPoll>;
  readonly identity: Identity;
  readonly reservation: MemoryReservation;
}

const MINUTE_MS = 60_000;

/** The share of an upstream rate limit that subscriptions may use, regardless of the settings. The rest is left to operations. */
const LIMIT_SHARE = 0.5;

/** The share of a minute's requests that may be sent as a burst. The smaller the burst, the more evenly the other requests are spread. */
const POLL_BURST_SHARE = 1 / 6;

/** Polls the upstream service for the subscriptions of all tokens. Tokens share nothing. */
export function createLive({ callers, clock, client, shared, memoryBudget, ...settings }: LiveSettings) {
  const { requestsPerMinute, limitOf, commonLimit, concurrency, timeoutMs } = settings;
  let count = 0;
  const callerPolls = callers.perCaller((caller): CallerPolls => {
    // Subscribers with the same token share requests, so the polls have their own request id.
    const identity: Identity = { caller, requestId: randomUUID(), trace: null };
    const reservation = memoryBudget.open(new RequestScope(identity, Number.POSITIVE_INFINITY));
    return { schedulers: new Map(), polls: new Map(), identity, reservation };
  });

  const schedulerOf = ({ schedulers, identity }: CallerPolls, limit: RateLimit | null): PollScheduler => {
    const open: OpenSession = (acquire) => {
      const scope = new RequestScope(identity, timeoutMs);
      let waiting = 0;
      const enqueue: SessionClient["enqueue"] = (read) => {
        waiting++;
        scope.setTimeout(Number.POSITIVE_INFINITY);
        acquire(() => {
          if (--waiting === 0) scope.setTimeout(timeoutMs);
          client.enqueue(read);
        });
      };
      const bounds = { concurrency, requests: Number.POSITIVE_INFINITY, isBackground: true };
      const one = { shared, bounds, bypassesCache: true, progress: UNTRACKED, operationTrace: null };
      return { session: openSession({ ...client, enqueue }, scope, one), end: () => scope.end("completed") };
    };
    const allowed = limit ? (limit.requests * MINUTE_MS) / limit.periodMs : Number.POSITIVE_INFINITY;
    const requests = Math.max(1, Math.min(requestsPerMinute, Math.floor(allowed * LIMIT_SHARE)));
    const create = () =>
      new PollScheduler(clock, new SlidingWindow({ requests, periodMs: MINUTE_MS }, POLL_BURST_SHARE), open);
    const scheduler = schedulers.get(limit) ?? create();
    schedulers.set(limit, scheduler);
    return scheduler;
  };

  /**
   * Joins the poll of a source. Adds a poll if the source has none, if its poll is over, or if the token has lost its verification since
   * the poll was added. The returned `leave` removes the poll when no other subscriber is left.
   */
  const join = <Shared extends Poll>(
    caller: Caller,
    { key: source, endpoint }: Source,
    create: (chargeRetained: ChargeRetained, timing: () => PollTiming) => Shared,
  ) => {
    const own = callerPolls.of(caller);
    const { polls, reservation } = own;
    const key = `${caller.revocations} ${source}`;
    const existing = polls.get(key);
    const usable = existing?.timing.isOver() ? undefined : existing;
    const add = (): SharedPoll => {
      count++;
      const poll = create(chargeIn(reservation), () => added.timing);
      const added = {
        poll,
        timing: schedulerOf(own, limitOf(shared.server.supported(endpoint))).add(poll),
        subscribers: 0,
      };
      polls.set(key, added);
      return added;
    };
    const entry = usable ?? add();
    entry.subscribers++;
    const leave = (): void => {
      if (--entry.subscribers > 0) return;
      count--;
      entry.timing.remove();
      if (polls.get(key) === entry) polls.delete(key);
    };
    // Safe: each key belongs to one source, and each source has one type of poll.
    return { poll: entry.poll as Shared, timing: entry.timing, leave };
  };

  const joinState = <State extends object>(caller: Caller, source: StateSource<State>) =>
    join(caller, source, (chargeRetained) => createStatePoll(source, chargeRetained));

  return {
    of: (caller: Caller) => ({
      watch: <State extends object, Event>(source: StateSource<State>, next: NextEvent<State, Event>) => {
        const { poll, timing, leave } = joinState(caller, source);
        const stream = poll.subscribe(next, leave);
        timing.wake();
        return stream;
      },
      /** Subscribes to items that are appended after a position. The poll of the run shows when the run has ended. */
      tail: <Position, Item>(source: TailSource<Position, Item>, position: Position) => {
        const run = joinState(caller, source.run);
        const { poll, timing, leave } = join(caller, source, (chargeRetained, own) =>
          createTailPoll<Position, Item>(source.read, chargeRetained, clock, (isDue) =>
            isDue ? own().readSoon() : own().wake(),
          ),
        );
        const stream = poll.subscribe(position, () => {
          unfollow();
          run.leave();
          leave();
        });
        const unfollow = run.poll.follow({
          onRead: (isOver) => {
            poll.setRunOver(isOver);
            if (isOver) timing.readFirst();
            else timing.wake();
          },
          // If the poll of the items is failing as well, it reports the error itself.
          fail: (error, isLast) => {
            if (isLast || !timing.isFailing()) stream.fail(error, isLast);
          },
        });
        run.timing.wake();
        return stream;
      },
    }),
    /** Counts an upstream request that was sent for an event of the caller. */
    recordSent: (caller: Caller) => callerPolls.find(caller)?.schedulers.get(commonLimit)?.recordSent(),
    polls: (): number => count,
  };
}

/** Returns a function that charges the retained memory of one poll to its caller. */
function chargeIn(reservation: MemoryReservation): ChargeRetained {
  let charged = 0;
  return (bytes) => {
    const added = bytes - charged;
    try {
      if (added > 0) reservation.chargeShared(added);
      else reservation.release(-added);
    } catch (error) {
      // Rejected bytes are not retained.
      reservation.release(added);
      throw error;
    }
    charged = bytes;
  };
}
