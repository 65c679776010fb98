import { AccountRooms, type Caller, type Callers } from "../../caller.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { Ticket } from "./allowance.ts";
import type { Breaker } from "./breaker.ts";
import { Bulkhead } from "../../bulkhead.ts";
import { type OperationBounds, OperationQueue } from "./operation-queue.ts";

/** The share of the connections that only proven callers may use. */
const PROVEN_SHARE = 1 / 8;

export interface AdmissionSettings {
  /** Maximum concurrent upstream requests, over all callers. */
  readonly connections: number;
  /** Maximum concurrent upstream requests of one caller. */
  readonly connectionsPerCaller: number;
  /** Maximum waiting upstream requests. Above it new operations are rejected. */
  readonly queue: number;
}

/**
 * Admits all upstream requests in turn. Own code: p-limit, p-queue and cockatiel are FIFO, so that one caller with many
 * requests starves the others, and they keep the requests of disconnected callers.
 */
export class Admission {
  readonly #settings: AdmissionSettings;
  readonly #breaker: Pick<Breaker, "isHalfOpen">;
  readonly #root: Bulkhead<Ticket>;
  readonly #bulkheads: AccountRooms<Bulkhead<Ticket>>;
  #shed = 0;
  #isServing = false;
  #isScheduled = false;
  readonly #resume = (): void => this.serveSoon();

  constructor(settings: AdmissionSettings, callers: Callers, breaker: Pick<Breaker, "isHalfOpen">) {
    this.#settings = settings;
    this.#breaker = breaker;
    this.#root = new Bulkhead<Ticket>(null, settings.connections);
    const { connections, connectionsPerCaller } = settings;
    // The service may be slow to reject a token: whoever invents tokens must leave connections to proven callers.
    const strangers = new Bulkhead(this.#root, connections - Math.floor(connections * PROVEN_SHARE));
    this.#bulkheads = new AccountRooms(callers, {
      address: () => new Bulkhead(strangers, connections),
      caller: (address) => new Bulkhead(address ?? this.#root, connectionsPerCaller),
    });
  }

  /** Opens the queue of an operation. It closes with the scope. */
  open(scope: RequestScope, bounds: OperationBounds): OperationQueue {
    const { part, leave } = this.#bulkheads.enter(scope.caller);
    const queue = new OperationQueue(this, scope, new Bulkhead(part, bounds.width), bounds);
    scope.onEnd(() => {
      queue.close();
      leave();
    });
    return queue;
  }

  /** Whether new operations of the caller are rejected: the queue is full and the caller has its share of it. */
  isQueueFull(caller: Caller): boolean {
    if (!this.#exceedsShare(caller)) return false;
    // Some requests may wait only for the end of this tick.
    this.serve();
    if (!this.#exceedsShare(caller)) return false;
    this.#shed++;
    return true;
  }

  pressure() {
    const { running, waiting } = this.#root;
    return { running, waiting, shed: this.#shed };
  }

  serve(): void {
    // A request that fails at once leaves while it is served: the loop below goes on then.
    if (this.#isServing) return;
    this.#isServing = true;
    try {
      while (this.#root.isReady()) {
        if (this.#breaker.isHalfOpen()) return this.#root.peek()?.probe(this.#resume);
        const ticket = this.#root.takeNext();
        ticket.queue.admit(ticket);
      }
    } finally {
      this.#isServing = false;
    }
  }

  /** Serves at the end of this tick, when all requests of the tick are known and can be ordered. */
  serveSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.serve();
    });
  }

  #exceedsShare(caller: Caller): boolean {
    const { queue } = this.#settings;
    if (this.#root.waiting < queue) return false;
    const { account, own } = this.#bulkheads.of(caller);
    const accounts = Math.max(1, this.#bulkheads.accounts);
    if (waitingIn(account) < queue / accounts) return false;
    return own === null || waitingIn(own) >= queue / (accounts + this.#bulkheads.unproven);
  }
}

const waitingIn = (bulkhead: Bulkhead<Ticket> | undefined): number => bulkhead?.waiting ?? 0;
