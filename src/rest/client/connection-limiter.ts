import type { Caller, CallerRegistry } from "../../callers/callers.ts";
import { CallerQueues, FairQueue } from "../../callers/fair-queue.ts";
import type { RequestScope } from "../../callers/request-scope.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { endedError } from "./failure.ts";
import { type Requester, type UpstreamCall, enqueue, type QueuedCall } from "./upstream-call.ts";

/** The share of the connections that is reserved for verified callers, and for callers that use fewer than that. */
const RESERVED_SHARE = 1 / 8;

export interface ConnectionSettings {
  /** Maximum concurrent upstream requests, over all callers, without downloads. */
  readonly connections: number;
  /** Maximum concurrent upstream requests of one caller. */
  readonly connectionsPerCaller: number;
  /** Maximum waiting upstream requests. Above it new operations are rejected. */
  readonly queue: number;
}

/**
 * Limits concurrent upstream requests, fairly by caller and operation. Own code: p-limit, p-queue and cockatiel are FIFO, so that one caller
 * with many requests starves the others, and they keep the requests of disconnected callers.
 */
export class ConnectionLimiter {
  readonly #queue: number;
  readonly #breaker: CircuitBreaker;
  readonly #root: FairQueue<QueuedCall>;
  readonly #unverified: FairQueue<QueuedCall>;
  readonly #queues: CallerQueues<QueuedCall>;
  #shed = 0;
  #isScheduled = false;
  #isServing = false;

  constructor(
    { connections, connectionsPerCaller, queue }: ConnectionSettings,
    callers: CallerRegistry,
    breaker: CircuitBreaker,
  ) {
    this.#queue = queue;
    this.#breaker = breaker;
    const reserved = Math.floor(connections * RESERVED_SHARE);
    // A few callers whose requests hang must leave connections to others, unless one caller may use them all.
    const kept = Math.min(reserved, connections - connectionsPerCaller);
    this.#root = new FairQueue<QueuedCall>(null, connections, Math.max(0, kept));
    // The upstream service may reject tokens slowly: invented ones must leave connections to verified callers.
    this.#unverified = new FairQueue(this.#root, connections - reserved);
    this.#queues = new CallerQueues(callers, this.#root, this.#unverified, connectionsPerCaller);
  }

  open({ caller }: RequestScope, concurrency: number): FairQueue<QueuedCall> {
    return new FairQueue(this.#queues.of(caller), concurrency);
  }

  /**
   * Waits for a connection; null if one is free. `release` gives it back. Downloads take none of them, because their callers decide how long
   * they last.
   */
  acquire(call: UpstreamCall): Promise<void> | null {
    const { queue } = call.requester;
    if (!queue) return this.#breaker.isHalfOpen() ? this.#breaker.probed(call) : null;
    if (this.#tryStart(queue)) return null;
    return enqueue(queue, call, () => endedError(call.request.endpoint, call.consumer.lifetime, false));
  }

  /** Dispatches a read with a connection as soon as it has one. The first read of an operation goes without: the load may have to be shed. */
  queue(read: QueuedCall, { queue, hasBegun }: Requester): void {
    if (!queue || !hasBegun) read.dispatch(false);
    else if (this.#tryStart(queue)) read.dispatch(true);
    else queue.enqueue(read);
  }

  /** Takes a connection if one is free, otherwise schedules serving the queue. */
  #tryStart(queue: FairQueue<QueuedCall>): boolean {
    if (!this.#breaker.isHalfOpen() && queue.tryStart()) return true;
    this.#serveSoon();
    return false;
  }

  release({ queue }: Requester): void {
    queue?.release();
    this.#serve();
  }

  /** Returns true, and counts the rejection, if the queue is full and the caller uses its share of it. */
  shedLoad(caller: Caller): boolean {
    if (!this.#exceedsShare(caller)) return false;
    // Some requests may wait only for the end of this tick.
    this.#serve();
    if (!this.#exceedsShare(caller)) return false;
    this.#shed++;
    return true;
  }

  load() {
    const { running, waiting } = this.#root;
    return { running, waiting, shed: this.#shed };
  }

  #serve(): void {
    // A call that fails at once is released before the next one is served.
    if (this.#isServing) return;
    this.#isServing = true;
    try {
      while (this.#root.isReady()) {
        // Calls that wait for a probe hold no connection.
        const next = this.#breaker.isHalfOpen() && this.#root.peek();
        if (next) return void this.#breaker.probed(next.call).then(() => this.#serve());
        this.#root.dequeue().dispatch(true);
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

  /** Shares of the queue are equal for all billed callers with waiting calls, and within an address for its unverified callers. */
  #exceedsShare(caller: Caller): boolean {
    if (this.#root.waiting < this.#queue) return false;
    const accounts = this.#root.busy + Math.max(0, this.#unverified.busy - 1);
    const account = this.#queues.of(caller.billedTo);
    const share = this.#queue / accounts;
    if (account.waiting < share) return false;
    return caller === caller.billedTo || this.#queues.of(caller).waiting >= share / account.busy;
  }
}
