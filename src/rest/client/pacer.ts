import type { Clock } from "../../clock.ts";
import { Rate, type RateLimit } from "../../rate.ts";
import { Line } from "../../line.ts";
import { endedError, throttledError } from "./failure.ts";
import { type Requester, type Order, waitIn, type Waiter } from "./order.ts";

/** The share of the requests that may be sent at once: a page loads in one go. */
const AT_ONCE = 0.75;

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
export type PacedOutcome = "unsent" | "allowed" | number;

/**
 * What the service still allows one token at endpoints that it counts together: how many requests, and none for a while after
 * it has refused one. Reads that are not allowed yet wait here. Commands are sent all the same, and count.
 */
export class Pacer {
  /** The reads that wait; those of each operation in a line below. */
  readonly #operations = new Line<Waiter>(null);
  /** Those of subscriptions. */
  readonly #polls = new Line<Waiter>(null);
  /** Reads of operations that went since a subscription waits. */
  #passed = 0;
  readonly #lines = new WeakMap<Requester, Line<Waiter>>();
  /** Operations of which not all requests will be allowed in time: they wait for nothing here, and end at once. */
  readonly #late = new WeakSet<Requester>();
  /** The error of each operation whose reads come too late: one for all of them, of which there may be thousands. */
  readonly #errors = new WeakMap<Requester, Error>();
  readonly #clock: Clock;
  readonly #rate: Rate | null;
  readonly #reserved: number;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** How many may be sent at a time. One after a refusal, then more with each that is answered. */
  #width = Number.POSITIVE_INFINITY;
  /** Requests that have been let pass and have not ended. */
  #flying = 0;
  /** Those of them that wait for a connection: the service counts them when they are sent. */
  #unsent = 0;
  #cancelTimer = (): void => {};

  /** `limit` is what the service allows; null when that is not known. */
  constructor(clock: Clock, limit: RateLimit | null) {
    this.#clock = clock;
    const paced = limit && {
      requests: Math.max(1, Math.floor(limit.requests * (1 - MARGIN_SHARE))),
      periodMs: limit.periodMs + MARGIN_MS,
    };
    this.#rate = paced && new Rate(paced, AT_ONCE);
    this.#reserved = paced ? Math.floor(paced.requests * RESERVED) : 0;
  }

  /** Waits until a read may be sent; null if it may be now. Throws `RATE_LIMITED` if that will be too late. */
  turn(order: Order): Promise<void> | null {
    const { request, requester, asker } = order;
    const { yields } = requester;
    if (this.#isFree(requester)) {
      this.letPass();
      return null;
    }
    const wasLate = this.#late.has(requester);
    if (!this.#keepWaiting(order)) {
      if (!wasLate) this.#refuseLate();
      throw this.#lateFor(order);
    }
    const line = this.#lines.get(requester) ?? new Line(yields ? this.#polls : this.#operations);
    this.#lines.set(requester, line);
    asker.pause();
    // At the deadline others had their turns: the service has refused nothing.
    const turn = waitIn(line, order, () =>
      asker.life.ended === "deadline"
        ? this.#lateFor(order)
        : endedError(request.endpoint, asker.life, false),
    ).finally(() => asker.resume());
    this.#advance();
    return turn;
  }

  /** Whether reads may have to wait, now or later. */
  mayDelay(requester: Requester): boolean {
    return this.#rate !== null || !this.#isFree(requester);
  }

  /** Whether a read need not wait. */
  #isFree({ yields }: Requester): boolean {
    return !this.#isWaiting() && this.#flying < this.#width && this.waitMs(yields) === 0;
  }

  /** How long a read would wait behind others, in milliseconds. `yields`: also behind what operations may need. */
  waitMs(yields: boolean): number {
    const operations = this.#operations.waiting;
    const polls = this.#polls.waiting;
    if (!yields)
      return this.#waitMs(operations + Math.min(polls, Math.floor(operations / OPERATIONS_PER_POLL)));
    const before = Math.min(operations, (polls + 1) * OPERATIONS_PER_POLL);
    return this.#waitMs(polls + (operations > 0 ? before : this.#reserved));
  }

  #waitMs(ahead: number): number {
    const now = this.#clock.now();
    return Math.max(this.#pausedUntil, this.#rate?.nextAt(now, ahead, this.#unsent) ?? now, now) - now;
  }

  /** Lets a request pass, allowed or not. */
  letPass(): void {
    this.#flying++;
    this.#unsent++;
  }

  /** Must be called once for each request when it is sent. */
  countSent(): void {
    this.#unsent--;
    this.#rate?.spend(this.#clock.now());
  }

  /** Whether a request that was taken must not be sent now, after a refusal. */
  isRefused(): boolean {
    return this.#flying > this.#width || this.#clock.now() < this.#pausedUntil;
  }

  /** Must be called once for each request that was let pass, at its end. */
  leave(outcome: PacedOutcome): void {
    this.#flying--;
    if (outcome === "unsent") this.#unsent--;
    else if (outcome !== "allowed") this.#refuse(outcome);
    else if (this.#width < RECOVERED && this.#clock.now() >= this.#pausedUntil) this.#width *= 2;
    else if (this.#width === RECOVERED) this.#width = Number.POSITIVE_INFINITY;
    if (this.#isWaiting()) this.#advance();
  }

  #isWaiting(): boolean {
    return this.#operations.waiting + this.#polls.waiting > 0;
  }

  /** Lets the waiting reads pass that are allowed now, and comes back for the others. */
  #advance(): void {
    this.#cancelTimer();
    while (this.#flying < this.#width) {
      const line = this.#nextLine();
      if (!line.isReady()) return;
      // A subscription takes of what is left to operations while these wait as well, not when they may come.
      const ms = this.#waitMs(line === this.#polls && !this.#operations.isReady() ? this.#reserved : 0);
      if (ms > 0) {
        this.#cancelTimer = this.#clock.after(Math.ceil(ms), () => this.#advance());
        return;
      }
      this.#passed = line === this.#operations && this.#polls.isReady() ? this.#passed + 1 : 0;
      this.letPass();
      line.takeNext().go(false);
    }
  }

  #nextLine(): Line<Waiter> {
    const isTurnOfPolls = this.#polls.isReady() && this.#passed >= OPERATIONS_PER_POLL;
    return this.#operations.isReady() && !isTurnOfPolls ? this.#operations : this.#polls;
  }

  #refuse(pauseMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pauseMs);
    this.#width = 1;
    this.#refuseLate();
  }

  #refuseLate(): void {
    for (const waiter of [...this.#operations.items(), ...this.#polls.items()])
      if (!this.#keepWaiting(waiter.order)) waiter.refuse?.(this.#lateFor(waiter.order));
  }

  /** Keeps those waiting who may wait for the turn. False if nobody may: then the operation waits no more. */
  #keepWaiting(order: Order): boolean {
    const { requester, asker } = order;
    const ms = this.waitMs(requester.yields);
    const msFor = (each: Requester) => (ms > 0 && this.#late.has(each) ? Infinity : ms);
    if (asker.keepWaiting(msFor, (each) => this.#lateFor(order, each))) return true;
    if (!requester.yields) this.#late.add(requester);
    return false;
  }

  /** The error of an operation, by default the one that sends the request. Of subscriptions, which last, each has its own. */
  #lateFor({ request, requester: sender }: Order, requester = sender): Error {
    const { yields } = requester;
    const error = this.#errors.get(requester) ?? throttledError(request.endpoint, this.waitMs(yields));
    if (!yields) this.#errors.set(requester, error);
    return error;
  }
}
