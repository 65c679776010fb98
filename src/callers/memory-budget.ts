import { getHeapStatistics } from "node:v8";
import type { CallerRegistry, Quota } from "./callers.ts";
import { GatewayError } from "../errors.ts";
import type { RequestScope } from "./request-scope.ts";

/** The limit for all callers, as a multiple of the limit for one. Above it, callers that use more than an equal share are rejected. */
const TOTAL_FACTOR = 4;

/** Maximum heap size of a value that was parsed from one byte of ordinary JSON, which is the unit of the budget. In bytes. */
export const HEAP_BYTES_PER_CHARGED_BYTE = 2;

/** Upper bounds for all callers and for one caller, as parts of the heap limit. */
const HEAP_SHARES = { total: 1 / 4, caller: 1 / 6 };

/** Caps the memory of each caller over all of its open requests: upstream responses, plus estimates of objects created from them. */
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

  /** Opens a reservation. It is released when the scope ends. */
  open(scope: RequestScope): MemoryReservation {
    return new MemoryReservation(this, scope);
  }

  /** Charges bytes until the scope ends, or returns null for at most `least` bytes. Throws `GatewayError` above the limit. */
  charge(scope: RequestScope, bytes: number, least = MIN_CHARGED_BYTES): MemoryReservation | null {
    if (bytes <= least) return null;
    const reservation = this.open(scope);
    reservation.charge(bytes);
    return reservation;
  }
}

/** Maximum number of bytes that are not charged. */
const MIN_CHARGED_BYTES = 32_768;

/** Upper bounds for heap sizes in bytes: a value without its characters, a property name, and the extra size of an index as a name. */
const [VALUE_BYTES, NAME_BYTES, INDEX_BYTES] = [64, 112, 304];
const WIDE = /[^\0-\u00FF]/;
const INDEX_NAME = /^\d{1,10}$/;

const bytesOf = (text: string): number => (WIDE.test(text) ? 2 : 1) * text.length;

/** Estimates the heap size of a parsed value, in bytes, when its JSON is no longer available. */
export function estimateHeapBytes(value: unknown): number {
  let bytes = 0;
  // Iterative, because values may be nested 200 levels deep.
  const rest: object[] = [];
  const add = (next: unknown): void => {
    bytes += VALUE_BYTES;
    if (typeof next === "string") bytes += bytesOf(next);
    else if (typeof next === "object" && next !== null) rest.push(next);
  };
  add(value);
  for (let next = rest.pop(); next; next = rest.pop()) {
    if (Array.isArray(next)) for (const item of next) add(item);
    else
      // `Object.entries` takes longer than parsing the object did.
      for (const name of Object.keys(next)) {
        bytes += NAME_BYTES + bytesOf(name) + (INDEX_NAME.test(name) ? INDEX_BYTES : 0);
        add((next as Readonly<Record<string, unknown>>)[name]);
      }
  }
  return bytes;
}

/** Memory that is charged to the caller of a scope. `charge`, `chargeShared` and `checkLimit` throw `GatewayError` above the limit. */
export class MemoryReservation {
  readonly #all: MemoryBudget;
  readonly #scope: RequestScope;
  /** Bytes that are released when the scope ends. */
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

  /** Transfers the reservation to another scope of the same caller. */
  transferTo(scope: RequestScope): void {
    this.#all.open(scope).#own = this.#own;
    this.#own = 0;
  }

  /** Charges bytes that may outlive the scope. They stay charged until any scope of the caller releases them. */
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
      `This caller's operations need more than ${maxBytes} bytes of memory at a time; request less at once.`,
    );
  }
}
