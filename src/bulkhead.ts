import { type Link, TransientList } from "./transient.ts";

/** The positions of an operation's result that wait for a request now. */
export interface Demand {
  readonly positions: number;
}

/**
 * A bulkhead limits concurrent requests to `width` and serves waiting ones in turn. Bulkheads form a tree: the root for
 * all callers, one per caller, one per operation. A request is admitted when every bulkhead above it has room. Work that
 * waits for a time slice takes turns in the same way.
 */
export class Bulkhead<Ticket extends { readonly demand: Demand }> {
  readonly #parent: Bulkhead<Ticket> | null;
  readonly #width: number;
  /** Child bulkheads that are ready, in the order of their turns. */
  readonly #ready = new TransientList<Bulkhead<Ticket>>();
  /** The place in the turns of the parent; null while the bulkhead is not ready. */
  #turn: Link<Bulkhead<Ticket>> | null = null;
  /** The waiting requests of an operation, or the queues of a caller. */
  #tickets: Ticket[] = [];
  running = 0;
  /** Number of waiting requests, descendants included. */
  waiting = 0;

  constructor(parent: Bulkhead<Ticket> | null, width: number) {
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

  /** The waiting requests that there is room for, descendants included. */
  tickets(): Ticket[] {
    return [...this.#tickets, ...this.#ready.members().flatMap((each) => each.tickets())];
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
