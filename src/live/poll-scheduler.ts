import type { Clock } from "../util/clock.ts";
import { GatewayError, isGatewayError, isTransient } from "../errors.ts";
import type { SlidingWindow } from "../util/sliding-window.ts";
import type { Session } from "../rest/session/session.ts";
import type { LiveStream } from "./stream.ts";

/** A read that is repeated for its subscribers. */
export interface Poll {
  /** Polls with the same key can be read by one upstream request, so they are read together when several are due. */
  readonly batchKey?: string | null | undefined;
  /** Whether a subscriber needs a read. */
  readonly isWanted: () => boolean;
  /** Whether the last read was final. Later subscribers get a new poll, because a run can be resumed. */
  readonly isOver: () => boolean;
  /** Reads once. Resolves with whether anything has changed. `latenessMs` returns how long ago the read was due, in milliseconds. */
  readonly read: (session: Session, latenessMs: () => number) => Promise<boolean>;
  /** The streams that receive the errors of the poll. */
  readonly streams: () => Iterable<Pick<LiveStream<unknown>, "fail">>;
}

export type PollTiming = ReturnType<PollScheduler["add"]>;

/** Opens a session. For each upstream request, the session calls `acquire`, which calls `send` when the rate limit allows the request. */
export type OpenSession = (acquire: (send: () => void) => void) => {
  readonly session: Session;
  readonly end: () => void;
};

/** The interval after a change, and the maximum interval, in milliseconds. The interval doubles while nothing changes. */
const FIRST_INTERVAL_MS = 1_000;
const MAX_INTERVAL_MS = 5_000;

/** Minimum time between the end of a read and the next one, in milliseconds. */
const MIN_PAUSE_MS = 500;

/** The maximum interval while reads fail, in milliseconds. */
const MAX_BACKOFF_MS = 15_000;

/** Delay of the first read of a poll, in milliseconds. A page subscribes to many runs at once, whose polls can share a request. */
const GATHER_MS = 20;

/** How long reads may fail before the subscribers receive the error, in milliseconds. */
const SURVIVED_MS = 60_000;

/** A period in which reads fail, or do not begin because the upstream service requested a pause. */
interface Outage {
  readonly since: number;
  readonly error: GatewayError;
}

interface ScheduledPoll {
  readonly poll: Poll;
  /** When the next read is due; infinite while a read is in flight, unless another read is needed afterwards. */
  dueAt: number;
  isReading: boolean;
  intervalMs: number;
  /** Whether the poll is read before all other due polls. */
  isUrgent: boolean;
  outage: Outage | null;
  /** Whether the subscribers have received the error of the current outage. */
  isReported: boolean;
}

interface QueuedRequest {
  readonly send: () => void;
  /** Whether a subscriber still needs the read. */
  readonly isWanted: () => boolean;
  readonly cancel: () => void;
}

/**
 * Reads the polls of one token that share an upstream rate limit. A poll begins when it is due and the sliding window has room for a
 * request. The poll that has been due longest goes first, whether or not its last read succeeded. Further requests of polls that have begun
 * wait in a queue. The queue is served before new polls begin, so that the limit never interrupts a read, which would then have to be
 * repeated. Intervals end on multiples of their length since the start, so that polls with the same interval are due together.
 */
export class PollScheduler {
  readonly #clock: Clock;
  readonly #rate: SlidingWindow;
  readonly #open: OpenSession;
  readonly #polls = new Set<ScheduledPoll>();
  readonly #queue: QueuedRequest[] = [];
  readonly #start: number;
  /** The time before which no poll begins, because the upstream service requested a pause. */
  #pausedUntil: number;
  /** The outage that began when the upstream service requested a pause. It lasts until a read succeeds. */
  #pause: Outage | null = null;
  #cancelTimer = (): void => {};

  constructor(clock: Clock, rate: SlidingWindow, open: OpenSession) {
    this.#clock = clock;
    this.#rate = rate;
    this.#open = open;
    this.#start = this.#pausedUntil = clock.now();
  }

  /** Counts an upstream request that is sent without waiting for the rate limit. */
  recordSent(): void {
    this.#rate.record(this.#clock.now());
  }

  /** Adds a poll, which is first read after `GATHER_MS`. */
  add(poll: Poll) {
    const scheduled: ScheduledPoll = {
      poll,
      dueAt: this.#clock.now() + GATHER_MS,
      isReading: false,
      intervalMs: FIRST_INTERVAL_MS,
      isUrgent: false,
      outage: null,
      isReported: false,
    };
    this.#polls.add(scheduled);
    this.#advance();
    const readSoon = (isUrgent: boolean): void => {
      scheduled.isUrgent ||= isUrgent;
      scheduled.dueAt = Math.min(scheduled.dueAt, this.#clock.now());
      this.#advance();
    };
    return {
      /** Must be called when a subscriber begins to need a read. Reads the poll when it is due. */
      wake: () => this.#advance(),
      /** Makes the poll due now instead of after its interval. */
      readSoon: () => readSoon(false),
      /** Makes the poll due now, before all others. */
      readFirst: () => readSoon(true),
      isFailing: () => scheduled.outage !== null,
      /** Whether the poll has failed permanently or is over, so no subscriber can join it. */
      isOver: () => !this.#polls.has(scheduled) || poll.isOver(),
      remove: () => {
        this.#polls.delete(scheduled);
        this.#advance();
      },
    };
  }

  /** Sends the requests and begins the polls that the rate limit allows now, and sets the timer for the next ones. */
  #advance(): void {
    const now = this.#clock.now();
    while (this.#rate.nextAt(now) <= now) {
      const request = this.#queue.shift();
      if (request && !request.isWanted()) request.cancel();
      else if (request) {
        this.#rate.record(now);
        request.send();
      } else if (!this.#beginNext(now)) break;
    }
    const nextAt = Math.min(this.#nextReadAt(now), this.#reportOutages(now));
    this.#cancelTimer();
    if (nextAt < Number.POSITIVE_INFINITY)
      this.#cancelTimer = this.#clock.after(Math.ceil(nextAt - now), () => this.#advance());
  }

  /** When the next request can be sent, or the next poll can begin. */
  #nextReadAt(now: number): number {
    const allowedAt = this.#rate.nextAt(now);
    if (this.#queue.length > 0) return allowedAt;
    let dueAt = Number.POSITIVE_INFINITY;
    for (const each of this.#polls)
      if (!each.isReading && each.poll.isWanted()) dueAt = Math.min(dueAt, each.dueAt);
    return Math.max(dueAt, allowedAt, this.#pausedUntil);
  }

  /** Begins the poll that has been due longest, with the others of its batch. Returns false when none is due. */
  #beginNext(now: number): boolean {
    if (now < this.#pausedUntil) return false;
    const due = [...this.#polls].filter(
      ({ dueAt, isReading, poll }) => dueAt <= now && !isReading && poll.isWanted(),
    );
    const [next] = due.toSorted(
      (one, other) => Number(other.isUrgent) - Number(one.isUrgent) || one.dueAt - other.dueAt,
    );
    if (!next) return false;
    const key = next.poll.batchKey;
    const batch = due.filter((each) => each === next || (key != null && each.poll.batchKey === key));
    // This is the first request of the batch; further ones are counted when they are sent.
    this.#rate.record(now);
    let isPaid = true;
    const { session, end } = this.#open((send) => {
      if (!isPaid) {
        this.#queue.push({ send, isWanted: () => batch.some((each) => this.#polls.has(each)), cancel: end });
        return this.#advance();
      }
      isPaid = false;
      send();
    });
    void Promise.all(batch.map((each) => this.#read(each, session))).then(end);
    return true;
  }

  async #read(scheduled: ScheduledPoll, session: Session): Promise<void> {
    const { poll, dueAt } = scheduled;
    Object.assign(scheduled, { dueAt: Number.POSITIVE_INFINITY, isReading: true, isUrgent: false });
    try {
      const isChanged = await poll.read(session, () => this.#clock.now() - dueAt);
      if (this.#clock.now() >= this.#pausedUntil) this.#pause = null;
      Object.assign(scheduled, { outage: null, isReported: false });
      this.#setInterval(scheduled, isChanged ? FIRST_INTERVAL_MS : 2 * scheduled.intervalMs, MAX_INTERVAL_MS);
    } catch (error) {
      if (this.#polls.has(scheduled)) this.#fail(scheduled, dueAt, error);
    }
    scheduled.isReading = false;
    this.#advance();
  }

  #setInterval(scheduled: ScheduledPoll, ms: number, maxMs: number): void {
    const interval = (scheduled.intervalMs = Math.min(ms, maxMs));
    const elapsed = this.#clock.now() - this.#start;
    const dueAt = this.#start + (Math.floor((elapsed + MIN_PAUSE_MS) / interval) + 1) * interval;
    // The poll may have been made due during the read.
    scheduled.dueAt = Math.min(scheduled.dueAt, dueAt);
  }

  #fail(scheduled: ScheduledPoll, wasDueAt: number, error: unknown): void {
    // An exceeded memory limit is transient, because the caller's other operations release their memory when they end.
    if (!isTransient(error) && !isGatewayError(error, "REQUEST_LIMIT_EXCEEDED"))
      return this.#end(scheduled, error);
    const now = this.#clock.now();
    scheduled.outage ??= { since: now, error };
    // Only the `Retry-After` of a rate limit requests a pause. A service that is down announces with it when it may be back.
    const { retryAfterSeconds = 0, upstream } = error.code === "RATE_LIMITED" ? error.details : {};
    // Without an upstream status, a rate limit of the gateway itself was exceeded, which lasts only for a moment.
    const pauseMs = Math.min(retryAfterSeconds * 1_000, upstream?.status ? Infinity : MAX_BACKOFF_MS);
    if (pauseMs > 0) {
      this.#pause ??= { since: now, error };
      this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs);
    }
    // A paused poll keeps its due time, and therefore its position among the due polls.
    if (this.#pausedUntil > now) scheduled.dueAt = wasDueAt;
    else this.#setInterval(scheduled, 2 * scheduled.intervalMs, MAX_BACKOFF_MS);
  }

  /** Reports each outage to the subscribers of its poll once it has lasted for a minute. Returns when the next report is due. */
  #reportOutages(now: number): number {
    const isPaused = now < this.#pausedUntil;
    let nextAt = Number.POSITIVE_INFINITY;
    for (const scheduled of this.#polls) {
      const outage = scheduled.outage ?? (isPaused ? this.#pause : null);
      if (!outage || scheduled.isReported || !scheduled.poll.isWanted()) continue;
      const reportAt = outage.since + SURVIVED_MS;
      if (now < reportAt) nextAt = Math.min(nextAt, reportAt);
      else this.#report(scheduled, outage.error, now);
    }
    return nextAt;
  }

  #end(scheduled: ScheduledPoll, error: unknown): void {
    this.#polls.delete(scheduled);
    for (const stream of scheduled.poll.streams()) stream.fail(error, true);
  }

  #report(scheduled: ScheduledPoll, error: GatewayError, now: number): void {
    if (error.code === "REQUEST_LIMIT_EXCEEDED") return this.#end(scheduled, error);
    scheduled.isReported = true;
    const { code, message, details } = error;
    const retryAfterSeconds = Math.ceil((this.#pausedUntil - now) / 1_000);
    const isPause = code === "RATE_LIMITED" && retryAfterSeconds > 0;
    const reported = isPause ? new GatewayError(code, message, { ...details, retryAfterSeconds }) : error;
    for (const stream of scheduled.poll.streams()) stream.fail(reported, false);
  }
}
