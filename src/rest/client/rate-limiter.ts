import type { Clock } from "../../util/clock.ts";
import { SlidingWindow, type RateLimit } from "../../util/sliding-window.ts";
import { FairQueue } from "../../callers/fair-queue.ts";
import { endedError, throttledError } from "./failure.ts";
import { type Requester, type UpstreamCall, enqueue, type QueuedCall } from "./upstream-call.ts";

/** The share of the requests that may be sent as a burst, such as for a page. */
const BURST_SHARE = 0.75;

/** The share of the requests that is reserved for operations, not subscriptions. */
const OPERATION_SHARE = 0.25;

/** While both wait, reads of operations before each read of a subscription. */
const OPERATIONS_PER_POLL = 3;

/** Margin below the limit of the upstream service, which counts at arrival, and requests of other clients as well. */
const MARGIN_SHARE = 0.05;
const MARGIN_MS = 500;

/** Concurrency at which a token has recovered from a 429. */
const RECOVERED = 64;

/** The outcome of an admitted request. A number: rejected with 429, retry after this many milliseconds. */
export type RateLimitOutcome = "unsent" | "allowed" | number;

/**
 * Client-side rate limiter of one token, for endpoints that the upstream service counts together. Reads wait until they are allowed. Commands
 * do not wait, but count. After a 429, requests pause as long as the response says, and concurrency restarts at one.
 */
export class RateLimiter {
  /** Waiting reads of operations, with a child queue for each operation. */
  readonly #operations = new FairQueue<QueuedCall>(null);
  /** Waiting reads of subscriptions. */
  readonly #polls = new FairQueue<QueuedCall>(null);
  /** Reads of operations since the last read of a subscription. */
  #passed = 0;
  readonly #queues = new WeakMap<Requester, FairQueue<QueuedCall>>();
  /** Operations whose reads cannot all be allowed before their deadline: further reads of them fail at once. */
  readonly #late = new WeakSet<Requester>();
  /** One error for all late reads of an operation, of which there may be thousands. */
  readonly #errors = new WeakMap<Requester, Error>();
  readonly #clock: Clock;
  readonly #window: SlidingWindow | null;
  readonly #reserved: number;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Maximum concurrent requests: one after a 429, then doubled by each success. */
  #concurrency = Number.POSITIVE_INFINITY;
  /** Admitted requests that have not ended. */
  #inFlight = 0;
  /** Of these, those that still wait for a connection. They count when they are sent. */
  #unsent = 0;
  #cancelTimer = (): void => {};

  /** `limit` is that of the upstream service; null if unknown. */
  constructor(clock: Clock, limit: RateLimit | null) {
    this.#clock = clock;
    const limited = limit && {
      requests: Math.max(1, Math.floor(limit.requests * (1 - MARGIN_SHARE))),
      periodMs: limit.periodMs + MARGIN_MS,
    };
    this.#window = limited && new SlidingWindow(limited, BURST_SHARE);
    this.#reserved = limited ? Math.floor(limited.requests * OPERATION_SHARE) : 0;
  }

  /** Waits until a read may be sent; returns null if it may be sent now. Throws `RATE_LIMITED` if that is after its deadline. */
  acquire(call: UpstreamCall): Promise<void> | null {
    const { request, requester, consumer } = call;
    const { isBackground } = requester;
    if (this.#isFree(requester)) {
      this.acquireNow();
      return null;
    }
    const wasLate = this.#late.has(requester);
    if (!this.#keepWaiting(call)) {
      if (!wasLate) this.#refuseLate();
      throw this.#lateFor(call);
    }
    const queue = this.#queues.get(requester) ?? new FairQueue(isBackground ? this.#polls : this.#operations);
    this.#queues.set(requester, queue);
    consumer.pause();
    // At the deadline the limit itself is the reason: the upstream service has rejected nothing.
    const acquired = enqueue(queue, call, () =>
      consumer.lifetime.ended === "deadline"
        ? this.#lateFor(call)
        : endedError(request.endpoint, consumer.lifetime, false),
    ).finally(() => consumer.resume());
    this.#advance();
    return acquired;
  }

  /** Whether reads may have to wait, now or later. */
  mightWait(requester: Requester): boolean {
    return this.#window !== null || !this.#isFree(requester);
  }

  /** Whether a read need not wait. */
  #isFree({ isBackground }: Requester): boolean {
    return !this.#isWaiting() && this.#inFlight < this.#concurrency && this.waitMs(isBackground) === 0;
  }

  /** How long a read would wait behind others, in milliseconds. `isBackground`: also behind the share of operations. */
  waitMs(isBackground: boolean): number {
    const operations = this.#operations.waiting;
    const polls = this.#polls.waiting;
    if (!isBackground)
      return this.#waitMs(operations + Math.min(polls, Math.floor(operations / OPERATIONS_PER_POLL)));
    const before = Math.min(operations, (polls + 1) * OPERATIONS_PER_POLL);
    return this.#waitMs(polls + (operations > 0 ? before : this.#reserved));
  }

  #waitMs(ahead: number): number {
    const now = this.#clock.now();
    return Math.max(this.#pausedUntil, this.#window?.nextAt(now, ahead, this.#unsent) ?? now, now) - now;
  }

  /** Admits a request without waiting, allowed or not. */
  acquireNow(): void {
    this.#inFlight++;
    this.#unsent++;
  }

  /** Must be called once for each admitted request when it is sent. */
  recordSent(): void {
    this.#unsent--;
    this.#window?.record(this.#clock.now());
  }

  /** Whether an admitted request must wait again, because of a 429 since. */
  isRefused(): boolean {
    return this.#inFlight > this.#concurrency || this.#clock.now() < this.#pausedUntil;
  }

  /** Must be called once for each admitted request, at its end. */
  release(outcome: RateLimitOutcome): void {
    this.#inFlight--;
    if (outcome === "unsent") this.#unsent--;
    else if (outcome !== "allowed") this.#refuse(outcome);
    else if (this.#concurrency < RECOVERED && this.#clock.now() >= this.#pausedUntil) this.#concurrency *= 2;
    else if (this.#concurrency === RECOVERED) this.#concurrency = Number.POSITIVE_INFINITY;
    if (this.#isWaiting()) this.#advance();
  }

  #isWaiting(): boolean {
    return this.#operations.waiting + this.#polls.waiting > 0;
  }

  /** Dispatches the waiting reads that are allowed now, and sets a timer for the others. */
  #advance(): void {
    this.#cancelTimer();
    while (this.#inFlight < this.#concurrency) {
      const queue = this.#nextQueue();
      if (!queue.isReady()) return;
      // The reserved share is closed to subscriptions only while no operation waits: then both take turns by `OPERATIONS_PER_POLL`.
      const ms = this.#waitMs(queue === this.#polls && !this.#operations.isReady() ? this.#reserved : 0);
      if (ms > 0) {
        this.#cancelTimer = this.#clock.after(Math.ceil(ms), () => this.#advance());
        return;
      }
      this.#passed = queue === this.#operations && this.#polls.isReady() ? this.#passed + 1 : 0;
      this.acquireNow();
      queue.dequeue().dispatch(false);
    }
  }

  #nextQueue(): FairQueue<QueuedCall> {
    const arePollsNext = this.#polls.isReady() && this.#passed >= OPERATIONS_PER_POLL;
    return this.#operations.isReady() && !arePollsNext ? this.#operations : this.#polls;
  }

  #refuse(pauseMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pauseMs);
    this.#concurrency = 1;
    this.#refuseLate();
  }

  #refuseLate(): void {
    for (const queuedCall of [...this.#operations.items(), ...this.#polls.items()])
      if (!this.#keepWaiting(queuedCall.call)) queuedCall.refuse?.(this.#lateFor(queuedCall.call));
  }

  /** Rejects consumers that cannot wait long enough. Returns false if none is left. */
  #keepWaiting(call: UpstreamCall): boolean {
    const { requester, consumer } = call;
    const ms = this.waitMs(requester.isBackground);
    const msFor = (each: Requester) => (ms > 0 && this.#late.has(each) ? Infinity : ms);
    if (consumer.keepWaiting(msFor, (each) => this.#lateFor(call, each))) return true;
    if (!requester.isBackground) this.#late.add(requester);
    return false;
  }

  /** The error for late reads of an operation, by default the sender of the request. Each read of a subscription has its own. */
  #lateFor({ request, requester: sender }: UpstreamCall, requester = sender): Error {
    const { isBackground } = requester;
    const error = this.#errors.get(requester) ?? throttledError(request.endpoint, this.waitMs(isBackground));
    if (!isBackground) this.#errors.set(requester, error);
    return error;
  }
}
