import { getHeapStatistics } from "node:v8";
import type { CallerRegistry, Quota } from "./callers.ts";
import { GatewayError } from "../errors.ts";
import type { RequestScope } from "./request-scope.ts";

/** The limit for all callers, as a multiple of the limit for one. Above it, callers with more than an equal share fail. */
const TOTAL_FACTOR = 4;

/** The budget counts bytes of JSON. A value that is parsed from ordinary JSON takes at most so many bytes of heap for each. */
export const HEAP_BYTES_PER_CHARGED_BYTE = 2;

/** The parts of the heap that may be held by all callers, and by one of them, at `HEAP_PER_HELD_BYTE`. */
const HEAP_SHARES = { total: 1 / 4, caller: 1 / 6 };

/**
 * Limits the memory that callers hold, over all scopes of each: the bytes of the service's responses, and what is made of
 * them, counted as so many bytes.
 */
export class MemoryBudget {
  readonly maxBytes: number;
  readonly maxTotal: number;
  readonly quota: Quota;

  constructor(maxBytes: number, callers: CallerRegistry) {
    const { heap_size_limit: heap } = getHeapStatistics();
    this.maxBytes = Math.min(maxBytes, Math.floor(heap * HEAP_SHARES.caller));
    this.maxTotal = Math.min(maxBytes * TOTAL_FACTOR, heap * HEAP_SHARES.total);
    this.quota = callers.quota({ total: this.maxTotal, perCaller: this.maxBytes });
  }

  /** Opens the count of a scope, which ends with it. */
  open(scope: RequestScope): MemoryReservation {
    return new MemoryReservation(this, scope);
  }

  /** Counts the memory of what a request brings until its scope ends; null if that is little. Throws `Failure` above the limit. */
  charge(scope: RequestScope, bytes: number, least = MIN_CHARGED_BYTES): MemoryReservation | null {
    if (bytes <= least) return null;
    const reservation = this.open(scope);
    reservation.charge(bytes);
    return reservation;
  }
}

/** What takes less is not counted, in bytes of memory. */
const MIN_CHARGED_BYTES = 32_768;

/** A value takes at most so many bytes of memory with its place: `{}` does. */
const BYTES_PER_VALUE = 64;

/** Estimates the heap of a value that is kept between reads, in bytes: the JSON that it was parsed from is gone. */
export function estimateHeapBytes(value: unknown): number {
  let bytes = 0;
  // Not by recursion: values may be nested 200 levels deep.
  const rest = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    bytes += BYTES_PER_VALUE;
    if (typeof next === "string") bytes += next.length;
    else if (typeof next === "object" && next !== null)
      for (const inner of Object.values(next)) rest.push(inner);
  }
  return bytes;
}

/** Counts the bytes that a scope holds until it ends. `add`, `keep` and `check` throw `Failure` above the limit. */
export class MemoryReservation {
  readonly #all: MemoryBudget;
  readonly #scope: RequestScope;
  /** The bytes that end with the scope. */
  #own = 0;

  constructor(all: MemoryBudget, scope: RequestScope) {
    this.#all = all;
    this.#scope = scope;
    scope.onEnd(() => this.#own && this.release(this.#own));
  }

  charge(bytes: number): void {
    if (this.#scope.ended) return;
    this.#own += bytes;
    this.chargeShared(bytes);
  }

  /** From now on another scope of the caller holds them. */
  transferTo(scope: RequestScope): void {
    this.#all.open(scope).#own = this.#own;
    this.#own = 0;
  }

  /** Counts bytes that may outlast the scope, until they are removed, by whichever scope of the caller. */
  chargeShared(bytes: number): void {
    this.#all.quota.add(this.#scope.caller, bytes);
    this.checkLimit();
  }

  release(bytes: number): void {
    this.#all.quota.add(this.#scope.caller, -bytes);
  }

  checkLimit(): void {
    const { maxBytes, maxTotal, quota } = this.#all;
    const bytes = quota.of(this.#scope.caller.billedTo);
    const exceedsShare = quota.taken > maxTotal && bytes > quota.taken / quota.billedCallers().length;
    if (bytes <= maxBytes && !exceedsShare) return;
    throw new GatewayError(
      "REQUEST_LIMIT_EXCEEDED",
      `This caller's operations need more than ${maxBytes} bytes of memory at a time; ask for less at once.`,
    );
  }
}
