import type { Caller, Callers } from "../../caller.ts";
import { CallerLines, Line } from "../../line.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { Breaker } from "./breaker.ts";
import { endedError } from "./failure.ts";
import { type Requester, type Order, waitIn, type Waiter } from "./order.ts";

/** The share of the connections that only proven callers may use. */
const PROVEN_SHARE = 1 / 8;

export interface ConnectionSettings {
  /** Maximum concurrent upstream requests, over all callers, without downloads. */
  readonly connections: number;
  /** Maximum concurrent upstream requests of one caller. */
  readonly connectionsPerCaller: number;
  /** Maximum waiting upstream requests. Above it new operations are rejected. */
  readonly queue: number;
}

/**
 * Lets upstream requests have a connection in their turn. Own code: p-limit, p-queue and cockatiel are FIFO, so that one
 * caller with many requests starves the others, and they keep the requests of disconnected callers.
 */
export class Connections {
  readonly #queue: number;
  readonly #breaker: Breaker;
  readonly #root: Line<Waiter>;
  readonly #strangers: Line<Waiter>;
  readonly #lines: CallerLines<Waiter>;
  #shed = 0;
  #isScheduled = false;
  #isServing = false;

  constructor(
    { connections, connectionsPerCaller, queue }: ConnectionSettings,
    callers: Callers,
    breaker: Breaker,
  ) {
    this.#queue = queue;
    this.#breaker = breaker;
    this.#root = new Line<Waiter>(null, connections);
    // The service may be slow to reject a token: whoever invents tokens must leave connections to proven callers.
    this.#strangers = new Line(this.#root, connections - Math.floor(connections * PROVEN_SHARE));
    this.#lines = new CallerLines(callers, this.#root, this.#strangers, connectionsPerCaller);
  }

  open({ caller }: RequestScope, width: number): Line<Waiter> {
    return new Line(this.#lines.of(caller), width);
  }

  /**
   * Waits for a connection; null if there is one now. It is free again after `leave`. A download waits for none, because its caller
   * decides how long it takes.
   */
  turn(order: Order): Promise<void> | null {
    const { line } = order.requester;
    if (!line) return this.#breaker.isHalfOpen() ? this.#breaker.probed(order) : null;
    if (this.#takeAtOnce(line)) return null;
    return waitIn(line, order, () => endedError(order.request.endpoint, order.asker.life, false));
  }

  /** Lets a read go when it has a connection. The first one of an operation goes without: there may be no room for the operation. */
  queue(read: Waiter, { line, hasBegun }: Requester): void {
    if (!line || !hasBegun) read.go(false);
    else if (this.#takeAtOnce(line)) read.go(true);
    else line.add(read);
  }

  /** Takes a connection if that is free now, else has the line served soon. */
  #takeAtOnce(line: Line<Waiter>): boolean {
    if (!this.#breaker.isHalfOpen() && line.takeAtOnce()) return true;
    this.#serveSoon();
    return false;
  }

  leave({ line }: Requester): void {
    line?.leave();
    this.#serve();
  }

  /** Turns a new operation away, and counts it, where the queue is full and the caller has its share of it. Else returns false. */
  turnAway(caller: Caller): boolean {
    if (!this.#exceedsShare(caller)) return false;
    // Some requests may wait only for the end of this tick.
    this.#serve();
    if (!this.#exceedsShare(caller)) return false;
    this.#shed++;
    return true;
  }

  pressure() {
    const { running, waiting } = this.#root;
    return { running, waiting, shed: this.#shed };
  }

  #serve(): void {
    // What fails at once leaves before the next one is served.
    if (this.#isServing) return;
    this.#isServing = true;
    try {
      while (this.#root.isReady()) {
        // What waits for a probe of the service holds no connection.
        const next = this.#breaker.isHalfOpen() && this.#root.peek();
        if (next) return void this.#breaker.probed(next.order).then(() => this.#serve());
        this.#root.takeNext().go(true);
      }
    } finally {
      this.#isServing = false;
    }
  }

  /** Serves at the end of this tick, when all requests of the tick are known and can be ordered. */
  #serveSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#serve();
    });
  }

  /** An equal share of the queue for each account with waiting requests, and of that for each stranger of an address. */
  #exceedsShare(caller: Caller): boolean {
    if (this.#root.waiting < this.#queue) return false;
    const accounts = this.#root.busy + Math.max(0, this.#strangers.busy - 1);
    const account = this.#lines.of(caller.account);
    const share = this.#queue / accounts;
    if (account.waiting < share) return false;
    return caller === caller.account || this.#lines.of(caller).waiting >= share / account.busy;
  }
}
