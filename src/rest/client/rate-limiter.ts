import type { Clock } from "../../util/clock.ts";
import { SlidingWindow, type RateLimit } from "../../util/sliding-window.ts";
import { FairQueue } from "../../callers/fair-queue.ts";
import { endedError, throttledError } from "./failure.ts";
import { type Requester, type UpstreamCall, enqueue, type QueuedCall } from "./upstream-call.ts";

/** The share of the requests that may be sent at once: a page loads in one go. */
const BURST_SHARE = 0.75;

/** The share of the requests that subscriptions leave to operations. */
const RESERVED = 0.25;

/** While both wait, so many reads of operations go before one of a subscription. */
const OPERATIONS_PER_POLL = 3;

/** What is kept below the limit of the service, which counts when requests arrive, and those of other clients as well. */
const MARGIN_SHARE = 0.05;
const MARGIN_MS = 500;

/** Above this many requests at a time the token has recovered from a refusal. */
const RECOVERED = 64;

/** What became of a request that was let pass; a number: the service refused it, with a pause of so many milliseconds. */
export type RateLimitOutcome = "unsent" | "allowed" | number;

/**
 * What the service still allows one token at endpoints that it counts together: how many requests, and none for a while after
 * it has refused one. Reads that are not allowed yet wait here. Commands are sent all the same, and count.
 */
export class RateLimiter {
  /** The reads that wait; those of each operation in a line below. */
  readonly #operations = new FairQueue<QueuedCall>(null);
  /** Those of subscriptions. */
  readonly #polls = new FairQueue<QueuedCall>(null);
  /** Reads of operations that went since a subscription waits. */
  #passed = 0;
  readonly #queues = new WeakMap<Requester, FairQueue<QueuedCall>>();
  /** Operations of which not all requests will be allowed in time: they wait for nothing here, and end at once. */
  readonly #late = new WeakSet<Requester>();
  /** The error of each operation whose reads come too late: one for all of them, of which there may be thousands. */
  readonly #errors = new WeakMap<Requester, Error>();
  readonly #clock: Clock;
  readonly #window: SlidingWindow | null;
  readonly #reserved: number;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** How many may be sent at a time. One after a refusal, then more with each that is answered. */
  #concurrency = Number.POSITIVE_INFINITY;
  /** Requests that have been let pass and have not ended. */
  #inFlight = 0;
  /** Those of them that wait for a connection: the service counts them when they are sent. */
  #unsent = 0;
  #cancelTimer = (): void => {};

  /** `limit` is what the service allows; null when that is not known. */
  constructor(clock: Clock, limit: RateLimit | null) {
    this.#clock = clock;
    const limited = limit && {
      requests: Math.max(1, Math.floor(limit.requests * (1 - MARGIN_SHARE))),
      periodMs: limit.periodMs + MARGIN_MS,
    };
    this.#window = limited && new SlidingWindow(limited, BURST_SHARE);
    this.#reserved = limited ? Math.floor(limited.requests * RESERVED) : 0;
  }

  /** Waits until a read may be sent; null if it may be now. Throws `RATE_LIMITED` if that will be too late. */
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
    // At the deadline others had their turns: the service has refused nothing.
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

  /** How long a read would wait behind others, in milliseconds. `yields`: also behind what operations may need. */
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

  /** Lets a request pass, allowed or not. */
  acquireNow(): void {
    this.#inFlight++;
    this.#unsent++;
  }

  /** Must be called once for each request when it is sent. */
  recordSent(): void {
    this.#unsent--;
    this.#window?.record(this.#clock.now());
  }

  /** Whether a request that was taken must not be sent now, after a refusal. */
  isRefused(): boolean {
    return this.#inFlight > this.#concurrency || this.#clock.now() < this.#pausedUntil;
  }

  /** Must be called once for each request that was let pass, at its end. */
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

  /** Lets the waiting reads pass that are allowed now, and comes back for the others. */
  #advance(): void {
    this.#cancelTimer();
    while (this.#inFlight < this.#concurrency) {
      const queue = this.#nextQueue();
      if (!queue.isReady()) return;
      // A subscription takes of what is left to operations while these wait as well, not when they may come.
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

  /** Keeps those waiting who may wait for the turn. False if nobody may: then the operation waits no more. */
  #keepWaiting(call: UpstreamCall): boolean {
    const { requester, consumer } = call;
    const ms = this.waitMs(requester.isBackground);
    const msFor = (each: Requester) => (ms > 0 && this.#late.has(each) ? Infinity : ms);
    if (consumer.keepWaiting(msFor, (each) => this.#lateFor(call, each))) return true;
    if (!requester.isBackground) this.#late.add(requester);
    return false;
  }

  /** The error of an operation, by default the one that sends the request. Of subscriptions, which last, each has its own. */
  #lateFor({ request, requester: sender }: UpstreamCall, requester = sender): Error {
    const { isBackground } = requester;
    const error = this.#errors.get(requester) ?? throttledError(request.endpoint, this.waitMs(isBackground));
    if (!isBackground) this.#errors.set(requester, error);
    return error;
  }
}
