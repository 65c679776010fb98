import { type Link, TransientList } from "../../transient.ts";
import type { EndpointName } from "../api/endpoint.ts";
import type { Allowance } from "./allowance.ts";

/** The positions of an operation's result that wait for a request now. */
export interface Demand {
  readonly positions: number;
}

export interface Ticket {
  readonly endpoint: EndpointName;
  /** Requests for which more positions wait go first. */
  readonly demand: Demand;
  /** Whether it is another attempt of an admitted request, which does not count. */
  readonly isRetry: boolean;
  readonly queue: { readonly admit: (ticket: Ticket) => void };
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
 * A bulkhead limits concurrent requests to `width` and serves waiting ones in turn. Bulkheads form a tree: the root for
 * all callers, one per caller, one per operation. A request is admitted when every bulkhead above it has room.
 */
export class Bulkhead {
  readonly #parent: Bulkhead | null;
  readonly #width: number;
  /** Child bulkheads that are ready, in the order of their turns. */
  readonly #ready = new TransientList<Bulkhead>();
  /** The place in the turns of the parent; null while the bulkhead is not ready. */
  #turn: Link<Bulkhead> | null = null;
  /** The waiting requests of an operation. */
  #tickets: Ticket[] = [];
  running = 0;
  /** Number of waiting requests, descendants included. */
  waiting = 0;

  constructor(parent: Bulkhead | null, width: number) {
    this.#parent = parent;
    this.#width = width;
  }

  /** Whether a request waits for which there is room. */
  isReady(): boolean {
    return this.running < this.#width && this.#ready.size + this.#tickets.length > 0;
  }

  add(ticket: Ticket): void {
    this.#tickets.push(ticket);
    this.#change(1, 0);
  }

  /** Removes and returns the waiting requests that match. */
  remove(matches: (ticket: Ticket) => boolean): Ticket[] {
    const removed = this.#tickets.filter(matches);
    if (removed.length === 0) return removed;
    this.#tickets = this.#tickets.filter((ticket) => !matches(ticket));
    this.#change(-removed.length, 0);
    return removed;
  }

  /** One of the waiting requests that there is room for; undefined when the bulkhead is not ready. */
  peek(): Ticket | undefined {
    return this.#ready.first?.member.peek() ?? this.#tickets[0];
  }

  /** Removes the next request, which runs from now on. The bulkhead must be ready. */
  takeNext(): Ticket {
    const next = this.#ready.takeFirst();
    if (!next) return this.#takeTicket();
    next.#turn = null;
    return next.takeNext();
  }

  /** Must be called once for each request that was taken, when it completes. */
  leave(): void {
    this.#change(0, -1);
  }

  #takeTicket(): Ticket {
    let best = 0;
    let most = 0;
    for (const [index, { demand }] of this.#tickets.entries()) {
      const { positions } = demand;
      if (positions <= most) continue;
      most = positions;
      best = index;
    }
    const [ticket] = this.#tickets.splice(best, 1);
    if (!ticket) throw new TypeError("a bulkhead without requests has no next one");
    // Bulkheads that are still ready go behind the others.
    this.#change(-1, 1);
    return ticket;
  }

  /** Updates the counts of the bulkhead and its ancestors, and adds each to or removes it from its parent's turns. */
  #change(waiting: number, running: number): void {
    this.waiting += waiting;
    this.running += running;
    const parent = this.#parent;
    if (!parent) return;
    if (this.isReady()) this.#turn ??= parent.#ready.add(this);
    else if (this.#turn) {
      parent.#ready.remove(this.#turn);
      this.#turn = null;
    }
    parent.#change(waiting, running);
  }
}
