import type { Callers, Room } from "../../caller.ts";
import { UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";

/** The limit for all callers, as a multiple of the limit for one. Above it, callers with more than an equal share fail. */
const TOTAL_FACTOR = 4;

/** The bytes that all scopes of one caller hold. */
interface CallerBytes {
  bytes: number;
}

/** Limits the bytes of responses that callers hold, over all scopes of each. */
export class HeldBytes {
  readonly maxBytes: number;
  readonly room: Room<CallerBytes>;
  total = 0;

  constructor(maxBytes: number, callers: Callers) {
    this.maxBytes = maxBytes;
    this.room = callers.room(() => ({ bytes: 0 }));
  }

  /** Opens the count of a scope, which ends with it. */
  open(scope: RequestScope): Held {
    const { caller } = scope;
    const held = new Held(this, scope, caller.enter(this.room));
    scope.onEnd(() => caller.leave(this.room));
    return held;
  }
}

/** Counts the bytes of responses that a scope holds until it ends. `add` and `check` throw `UpstreamError` above the limit. */
export class Held {
  readonly #all: HeldBytes;
  readonly #scope: RequestScope;
  readonly #caller: CallerBytes;
  /** The bytes that end with the scope. */
  #own = 0;

  constructor(all: HeldBytes, scope: RequestScope, caller: CallerBytes) {
    this.#all = all;
    this.#scope = scope;
    this.#caller = caller;
    scope.onEnd(() => this.remove(this.#own));
  }

  /** Adds received bytes. */
  add(bytes: number): void {
    if (this.#scope.ended) return;
    this.#own += bytes;
    this.#caller.bytes += bytes;
    this.#all.total += bytes;
    this.check();
  }

  /** Lets added bytes outlast the scope: they count until they are removed. */
  detach(bytes: number): void {
    this.#own -= bytes;
  }

  /** Removes detached bytes, of whichever scope of the caller. */
  remove(bytes: number): void {
    this.#caller.bytes -= bytes;
    this.#all.total -= bytes;
  }

  /** Checks the limit before more is read. */
  check(): void {
    const { maxBytes, total, room } = this.#all;
    const { bytes } = this.#caller;
    const exceedsShare = total > maxBytes * TOTAL_FACTOR && bytes > total / room.size;
    if (bytes <= maxBytes && !exceedsShare) return;
    throw new UpstreamError(
      "REQUEST_LIMIT_EXCEEDED",
      `This caller's operations need more than ${maxBytes} bytes of the service's answers at a time; ask for less at once.`,
    );
  }
}
