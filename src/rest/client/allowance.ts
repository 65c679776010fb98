import type { Caller } from "../../caller.ts";
import { Memory } from "../../memory.ts";
import type { Clock } from "../../clock.ts";
import { Rate, type RateLimit } from "../../rate.ts";
import type { EndpointName } from "../api/endpoint.ts";
import { Bulkhead, type Demand } from "../../bulkhead.ts";

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

/** A request of an operation that waits for its turn. */
export interface Ticket {
  readonly endpoint: EndpointName;
  /** Requests for which more positions wait go first. */
  readonly demand: Demand;
  /** Whether it is another attempt of an admitted request, which does not count. */
  readonly isRetry: boolean;
  readonly queue: {
    /** Its turn for a connection has come. */
    readonly admit: (ticket: Ticket) => void;
    /** Its allowance has let it pass. */
    readonly pass: (ticket: Ticket) => void;
    /** Rejects the waiting reads that an allowance will let pass too late. */
    readonly rejectLate: (allowance: Allowance) => void;
  };
  /** Whether it may wait for its allowance. */
  readonly isPatient: boolean;
  /** What it counts against; null for a request without a token. */
  readonly allowance: Allowance | null;
  /** Called when the request may be sent. */
  admitted(): void;
  /** Begins a probe of the service unless one is under way. Calls back when its outcome is known. */
  probe(resume: () => void): void;
  /** Called instead of `admitted` when the request will not be sent. */
  rejected(error: Error): void;
}

/**
 * What the service still allows one token: how many requests, and none for a while after it has refused one. Reads that
 * are not allowed yet wait here. Commands are sent all the same, and count.
 */
export class Allowance {
  /** The reads that wait; those of each operation in a bulkhead below. */
  readonly waiting = new Bulkhead<Ticket>(null, Number.POSITIVE_INFINITY);
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
    return this.#waitMs(this.waiting.waiting + (yields ? this.#reserved : 0));
  }

  #waitMs(ahead: number): number {
    const now = this.#clock.now();
    return Math.max(this.#pausedUntil, this.#rate?.nextAt(now, ahead, this.#unsent) ?? now, now) - now;
  }

  /** Takes a request if it is allowed now. Otherwise it may wait. */
  take(yields: boolean): boolean {
    if (this.#flying >= this.#width || this.waitMs(yields) > 0) return false;
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
    this.advance();
  }

  /** Must be called once for each request that was sent when it ends, with the pause that the service asks for; null: it was allowed. */
  end(pauseMs: number | null): void {
    this.#flying--;
    if (pauseMs !== null) this.#refuse(pauseMs);
    else if (this.#width < RECOVERED && this.#clock.now() >= this.#pausedUntil) this.#width *= 2;
    else if (this.#width === RECOVERED) this.#width = Number.POSITIVE_INFINITY;
    this.advance();
  }

  /** Lets the waiting reads pass that are allowed now, and comes back for the others. */
  advance(): void {
    this.#cancelTimer();
    while (this.waiting.isReady() && this.#flying < this.#width) {
      const ms = this.#waitMs(0);
      if (ms > 0) {
        this.#cancelTimer = this.#clock.after(Math.ceil(ms), () => this.advance());
        return;
      }
      this.spend();
      const ticket = this.waiting.takeNext();
      ticket.queue.pass(ticket);
    }
  }

  #refuse(pauseMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pauseMs);
    this.#width = 1;
    for (const queue of new Set(this.waiting.tickets().map((ticket) => ticket.queue))) queue.rejectLate(this);
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
