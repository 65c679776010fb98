import type { Caller } from "../../caller.ts";
import { Memory } from "../../memory.ts";
import type { Clock } from "../../clock.ts";
import { Rate, type RateLimit } from "../../rate.ts";

/** The share of the requests that may be sent at once: a page loads in one go. */
const AT_ONCE = 0.75;

/** The share of the requests that subscriptions leave to operations. */
const RESERVED = 0.25;

/** What is kept below the limit of the service, which counts when requests arrive, and those of other clients as well. */
const MARGIN_SHARE = 0.05;
const MARGIN_MS = 500;

const withMargin = ({ requests, periodMs }: RateLimit): RateLimit => ({
  requests: Math.max(1, Math.floor(requests * (1 - MARGIN_SHARE))),
  periodMs: periodMs + MARGIN_MS,
});

/** How long the allowance of a token is kept after its last operation, in milliseconds: longer than any pause or period. */
const KEPT_MS = 4_000_000;

/** Above this many requests at a time the token has recovered from a refusal. */
const RECOVERED = 64;

/** An operation whose reads wait for an allowance. */
interface Waiting {
  /** How many of its reads wait. */
  held(allowance: Allowance): number;
  /** Takes one of them, and lets it pass. */
  passNext(allowance: Allowance): void;
  /** Rejects them if their turn comes too late. */
  rejectLate(allowance: Allowance): void;
}

/**
 * What the service still allows one token: how many requests, and none for a while after it has refused one. Reads that
 * are not allowed yet wait here. Commands are sent all the same, and count.
 */
export class Allowance {
  /** The operations with reads that wait, in the order of their turns. */
  readonly #waiting = new Set<Waiting>();
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
    const paced = limit && withMargin(limit);
    this.#rate = paced && new Rate(paced, AT_ONCE);
    this.#reserved = paced ? Math.floor(paced.requests * RESERVED) : 0;
  }

  /** How long a read would wait behind others, in milliseconds. `yields`: also behind what operations may need. */
  waitMs(yields: boolean): number {
    let ahead = yields ? this.#reserved : 0;
    for (const operation of this.#waiting) ahead += operation.held(this);
    return this.#waitMs(ahead);
  }

  #waitMs(ahead: number): number {
    const now = this.#clock.now();
    return Math.max(this.#pausedUntil, this.#rate?.nextAt(now, ahead, this.#unsent) ?? now, now) - now;
  }

  /** Takes a request if it is allowed now. Otherwise it may wait. */
  take(yields: boolean): boolean {
    if (this.#waiting.size > 0 || this.#flying >= this.#width || this.waitMs(yields) > 0) return false;
    this.spend();
    return true;
  }

  /** Lets a request pass, allowed or not. It is sent and ends, or is given back. */
  spend(): void {
    this.#flying++;
    this.#unsent++;
  }

  /** Must be called once for each request when it is sent. */
  send(): void {
    this.#unsent--;
    this.#rate?.spend(this.#clock.now());
  }

  /** Whether a request that was taken must not be sent now, after a refusal. */
  isRefused(): boolean {
    if (this.#width === Number.POSITIVE_INFINITY) return false;
    return this.#flying > this.#width || this.#clock.now() < this.#pausedUntil;
  }

  giveBack(): void {
    this.#flying--;
    this.#unsent--;
    this.#advance();
  }

  /** Adds an operation with reads that wait. */
  wait(operation: Waiting): void {
    this.#waiting.add(operation);
    this.#advance();
  }

  leave(operation: Waiting): void {
    this.#waiting.delete(operation);
  }

  /** Must be called once for each request that was sent when it ends, with the pause that the service asks for; null: it was allowed. */
  end(pauseMs: number | null): void {
    this.#flying--;
    if (pauseMs !== null) this.#refuse(pauseMs);
    else if (this.#width < RECOVERED && this.#clock.now() >= this.#pausedUntil) this.#width *= 2;
    else if (this.#width === RECOVERED) this.#width = Number.POSITIVE_INFINITY;
    this.#advance();
  }

  /** Lets the waiting reads pass that are allowed now, and comes back for the others. */
  #advance(): void {
    this.#cancelTimer();
    for (const operation of this.#waiting) {
      if (this.#flying >= this.#width) return;
      const ms = this.#waitMs(0);
      if (ms > 0) {
        this.#cancelTimer = this.#clock.after(Math.ceil(ms), () => this.#advance());
        return;
      }
      // Behind the others, whom this loop reaches first.
      this.#waiting.delete(operation);
      if (operation.held(this) > 1) this.#waiting.add(operation);
      this.spend();
      operation.passNext(this);
    }
  }

  #refuse(pauseMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pauseMs);
    this.#width = 1;
    for (const operation of this.#waiting) operation.rejectLate(this);
  }
}

/** Returns a function that gives the allowance of a caller's token. */
export function createAllowances(clock: Clock, limit: RateLimit | null): (caller: Caller) => Allowance {
  const kept = new Memory<Allowance>(KEPT_MS);
  return ({ key }) => {
    const allowance = kept.get(key) ?? new Allowance(clock, limit);
    // Counts its time from now on.
    kept.set(key, allowance);
    return allowance;
  };
}
