import type { Clock } from "../../util/clock.ts";
import { SlidingWindow, type RateLimit } from "../../util/sliding-window.ts";
import { FairQueue } from "../../callers/fair-queue.ts";
import { throttledError } from "./failure.ts";
import type { Requester, UpstreamCall, QueuedCall } from "./upstream-call.ts";

/** The share of the rate limit that may be used in one burst, for example to load a page. */
const BURST_SHARE = 0.75;

/** The share of the rate limit that subscriptions must leave to other operations. */
const OPERATION_SHARE = 0.25;

/** Number of reads of operations that precede each read of a subscription, while both wait. */
const OPERATIONS_PER_POLL = 3;

/** Margin below the limit of the upstream service, which counts requests on arrival, including those of other clients with the token. */
const MARGIN_SHARE = 0.05;
const MARGIN_MS = 500;

/** Concurrency from which a token counts as recovered from a 429. */
const RECOVERED = 64;

/** The outcome of an admitted request. A number means that it was rejected with 429 and may be retried after this many milliseconds. */
export type RateLimitOutcome = "unsent" | "allowed" | number;

/** The reads of a token that count against a rate limit: two queues within its caller's queue, blocked while no read is allowed. */
type RateLimitedQueues = Readonly<Record<"callerQueue" | "operations" | "polls", FairQueue<QueuedCall>>>;

/**
 * Client-side rate limiter of one token, for endpoints that the upstream service counts together. It blocks the queues of reads until the
 * next read is allowed. Commands count, but do not wait. After a 429, reads pause for as long as the response requests, and their
 * concurrency restarts at one.
 */
export class RateLimiter {
  /** The queues that the limiter blocks. A caller that becomes verified gets new queues. */
  readonly #queues: RateLimitedQueues[] = [];
  /** Whether any of the queues is blocked. */
  #isBlocking = false;
  /** Operations of which a read was rejected because it could not meet its deadline. Their further reads fail instead of waiting. */
  readonly #late = new WeakSet<Requester>();
  /** The error that all late reads of an operation share, because there may be thousands. */
  readonly #errors = new WeakMap<Requester, Error>();
  readonly #clock: Clock;
  readonly #limit: RateLimit | null;
  readonly #window: SlidingWindow | null;
  readonly #reserved: number;
  readonly #onUnblocked: () => void;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Maximum concurrent requests: one after a 429, then doubled by each success. */
  #concurrency = Number.POSITIVE_INFINITY;
  /** Admitted requests that have not ended. */
  #inFlight = 0;
  /** Admitted requests that are not sent yet. They count when they are sent. */
  #unsent = 0;
  #cancelTimer: (() => void) | null = null;

  /** `limit` is the upstream rate limit; null if it is unknown. `onUnblocked` is called when waiting reads are allowed again. */
  constructor(clock: Clock, limit: RateLimit | null, onUnblocked: () => void) {
    this.#clock = clock;
    this.#limit = limit;
    this.#onUnblocked = onUnblocked;
    const limited = limit && {
      requests: Math.max(1, Math.floor(limit.requests * (1 - MARGIN_SHARE))),
      periodMs: limit.periodMs + MARGIN_MS,
    };
    this.#window = limited && new SlidingWindow(limited, BURST_SHARE);
    this.#reserved = limited ? Math.floor(limited.requests * OPERATION_SHARE) : 0;
  }

  /** The queues of this limiter within the fair queue of a caller. */
  queueIn(callerQueue: FairQueue<QueuedCall>): RateLimitedQueues {
    const existing = this.#queues.find((each) => each.callerQueue === callerQueue);
    if (existing) return existing;
    const operations = new FairQueue(callerQueue, { cost: 1 });
    const queues = {
      callerQueue,
      operations,
      polls: new FairQueue(callerQueue, { cost: OPERATIONS_PER_POLL }),
    };
    this.#queues.push(queues);
    return queues;
  }

  /** Throws `RATE_LIMITED` if a read would be allowed only after its deadline. */
  checkDeadline(call: UpstreamCall): void {
    if (!this.#isLimiting() || this.#isFree(call.requester)) return;
    const wasLate = this.#late.has(call.requester);
    if (this.#rejectLate(call)) return;
    if (!wasLate) this.#refuseLate();
    throw this.lateFor(call);
  }

  /** Throws `RATE_LIMITED` if the upstream service would certainly reject a command. */
  checkSpent({ request }: UpstreamCall): void {
    const now = this.#clock.now();
    const freeAt = this.#limit ? (this.#window?.freeAt(now, this.#limit) ?? now) : now;
    if (freeAt > now) throw throttledError(request.endpoint, freeAt - now);
  }

  /** Admits a request, even if the limit does not allow it. */
  admit(): void {
    this.#inFlight++;
    this.#unsent++;
    this.update();
  }

  /** Must be called once for each admitted request when it is sent. */
  recordSent(): void {
    this.#unsent--;
    this.#window?.record(this.#clock.now());
  }

  /** Must be called once for each admitted request, at its end. */
  release(outcome: RateLimitOutcome): void {
    this.#inFlight--;
    if (outcome === "unsent") this.#unsent--;
    else if (outcome !== "allowed") this.#refuse(outcome);
    else if (this.#concurrency < RECOVERED && this.#clock.now() >= this.#pausedUntil) this.#concurrency *= 2;
    else if (this.#concurrency === RECOVERED) this.#concurrency = Number.POSITIVE_INFINITY;
    this.update();
  }

  /** Blocks or unblocks the queues, and sets a timer for when the next read is allowed. */
  update(): void {
    if (!this.#isLimiting() && !this.#isBlocking) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#isBlocking = false;
    const isFull = this.#inFlight >= this.#concurrency;
    const operationsMs = isFull ? Number.POSITIVE_INFINITY : this.#waitMs(0);
    // While operations wait, `OPERATIONS_PER_POLL` determines the share of subscriptions. Otherwise subscriptions leave the reserved share
    // unused.
    const areReserved = !isFull && this.#waiting("operations") === 0;
    const pollsMs = areReserved ? this.#waitMs(this.#reserved) : operationsMs;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { operations, polls } of this.#queues)
      nextMs = Math.min(nextMs, this.#block(operations, operationsMs), this.#block(polls, pollsMs));
    if (nextMs === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = this.#clock.after(Math.ceil(nextMs), () => {
      this.update();
      this.#onUnblocked();
    });
  }

  /** Blocks a queue for `ms` milliseconds. Returns `ms` if the queue has waiting reads, otherwise infinity. */
  #block(queue: FairQueue<QueuedCall>, ms: number): number {
    const wasBlocked = queue.isBlocked;
    queue.isBlocked = ms > 0;
    this.#isBlocking ||= queue.isBlocked;
    if (ms === 0 || queue.waiting === 0) return Number.POSITIVE_INFINITY;
    if (!wasBlocked) for (const each of queue.items()) each.waitForRateLimit();
    return ms;
  }

  /** The error for late reads of a requester. All late reads of an operation share one error, unlike those of a subscription. */
  lateFor({ request, requester: sender }: UpstreamCall, requester = sender): Error {
    const { isBackground } = requester;
    const error = this.#errors.get(requester) ?? throttledError(request.endpoint, this.waitMs(isBackground));
    if (!isBackground) this.#errors.set(requester, error);
    return error;
  }

  /** How long a new read would wait behind the others, in milliseconds. `isBackground`: it belongs to a subscription. */
  waitMs(isBackground: boolean): number {
    const operations = this.#waiting("operations");
    const polls = this.#waiting("polls");
    if (!isBackground)
      return this.#waitMs(operations + Math.min(polls, Math.floor(operations / OPERATIONS_PER_POLL)));
    const before = Math.min(operations, (polls + 1) * OPERATIONS_PER_POLL);
    return this.#waitMs(polls + (operations > 0 ? before : this.#reserved));
  }

  /** Whether reads may have to wait, now or later. */
  #isLimiting(): boolean {
    return (
      this.#window !== null ||
      this.#concurrency !== Number.POSITIVE_INFINITY ||
      this.#clock.now() < this.#pausedUntil
    );
  }

  /** Whether a read can be sent without waiting. */
  #isFree({ isBackground }: Requester): boolean {
    return this.#inFlight < this.#concurrency && this.waitMs(isBackground) === 0;
  }

  #waitMs(ahead: number): number {
    const now = this.#clock.now();
    return Math.max(this.#pausedUntil, this.#window?.nextAt(now, ahead, this.#unsent) ?? now, now) - now;
  }

  #waiting(which: "operations" | "polls"): number {
    let sum = 0;
    for (const queue of this.#queues) sum += queue[which].waiting;
    return sum;
  }

  #refuse(pauseMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pauseMs);
    this.#concurrency = 1;
    this.#refuseLate();
  }

  #refuseLate(): void {
    const all = this.#queues.flatMap(({ operations, polls }) => [...operations.items(), ...polls.items()]);
    for (const each of all) {
      // All other calls wait for a connection, not for the rate limit.
      const isDelayed = each.waitReason === "RATE_LIMIT" || this.#late.has(each.call.requester);
      if (isDelayed && !this.#rejectLate(each.call)) each.reject(this.lateFor(each.call));
    }
  }

  /** Rejects consumers that cannot wait long enough. Returns false if none remains. */
  #rejectLate(call: UpstreamCall): boolean {
    const { requester, consumer } = call;
    const ms = this.waitMs(requester.isBackground);
    const msFor = (each: Requester) => (ms > 0 && this.#late.has(each) ? Infinity : ms);
    if (consumer.rejectLate(msFor, (each) => this.lateFor(call, each))) return true;
    if (!requester.isBackground) this.#late.add(requester);
    return false;
  }
}
