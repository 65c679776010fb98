import { UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import { TransientMap } from "../../transient.ts";

/** The limit for all callers, as a multiple of the limit for one. Above it, callers with more than an equal share fail. */
const TOTAL_FACTOR = 4;

/** The bytes that all scopes of one caller hold. */
interface CallerBytes {
  bytes: number;
  scopes: number;
}

/** Limits the bytes of responses that callers hold, over all scopes of each. Forgets callers without an open scope. */
export class HeldBytes {
  readonly #maxBytes: number;
  readonly #callers = new TransientMap<CallerBytes>();
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Opens the count of a scope, which ends with it. */
  open(scope: RequestScope): Held {
    const caller = this.#callers.get(scope.callerKey) ?? { bytes: 0, scopes: 0 };
    this.#callers.set(scope.callerKey, caller);
    caller.scopes++;
    const held = new Held(this, scope, caller);
    scope.onEnd(() => {
      this.add(caller, -held.own);
      if (--caller.scopes === 0) this.#callers.delete(scope.callerKey);
    });
    return held;
  }

  add(caller: CallerBytes, bytes: number): void {
    caller.bytes += bytes;
    this.#total += bytes;
  }

  check({ bytes }: CallerBytes): void {
    const exceedsShare =
      this.#total > this.#maxBytes * TOTAL_FACTOR && bytes > this.#total / this.#callers.size;
    if (bytes <= this.#maxBytes && !exceedsShare) return;
    throw new UpstreamError(
      "REQUEST_LIMIT_EXCEEDED",
      `This caller's operations need more than ${this.#maxBytes} bytes of the service's answers at a time; ask for less at once.`,
    );
  }
}

/** Counts the bytes of responses that a scope holds until it ends. Both methods throw `UpstreamError` above the limit. */
export class Held {
  readonly #all: HeldBytes;
  readonly #scope: RequestScope;
  readonly #caller: CallerBytes;
  own = 0;

  constructor(all: HeldBytes, scope: RequestScope, caller: CallerBytes) {
    this.#all = all;
    this.#scope = scope;
    this.#caller = caller;
  }

  /** Adds received bytes. */
  add(bytes: number): void {
    if (this.#scope.ended()) return;
    this.own += bytes;
    this.#all.add(this.#caller, bytes);
    this.check();
  }

  /** Checks the limit before more is read. */
  check(): void {
    this.#all.check(this.#caller);
  }
}
