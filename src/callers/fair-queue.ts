import type { Caller, CallerRegistry, PerCaller } from "./callers.ts";
import { type Link, LinkedList } from "../util/linked-list.ts";

/** Items with a higher priority go first. Of a read it is the number of result positions that wait for it. */
export interface Prioritized {
  readonly priority: number;
}

/**
 * A hierarchical fair queue (gateway, caller, operation). Sibling queues are served least-served first where time is charged, otherwise
 * round-robin. `concurrency` caps the number of running items of a queue and those below it. Within one queue the item with the highest
 * priority goes first.
 */
export class FairQueue<Item extends Prioritized> {
  readonly #parent: FairQueue<Item> | null;
  readonly #concurrency: number;
  readonly #reserved: number;
  /** Child queues that are ready, in the order in which they are served. */
  readonly #ready = new LinkedList<FairQueue<Item>>();
  /** Its link in `#ready` of the parent; null while the queue is not ready. */
  #link: Link<FairQueue<Item>> | null = null;
  /** Milliseconds charged to it. A queue that was idle starts level with its siblings: idle time earns no credit. */
  #servedMs = 0;
  /** `#servedMs` of the child that was served last. */
  #lastServedMs = 0;
  /** Items that wait in this queue itself. */
  #items: Item[] = [];
  running = 0;
  /** Number of waiting items, those of child queues included. */
  waiting = 0;
  /** Number of child queues with waiting items. */
  busy = 0;

  /** `reserved`: how much of the concurrency is kept for child queues with fewer running items than that. */
  constructor(parent: FairQueue<Item> | null, concurrency = Number.POSITIVE_INFINITY, reserved = 0) {
    this.#parent = parent;
    this.#concurrency = concurrency;
    this.#reserved = reserved;
  }

  /** Whether an item waits that may run now. */
  isReady(): boolean {
    if (this.running >= this.#concurrency) return false;
    return this.#items.length > 0 || this.#nextReady() !== null;
  }

  /** The child queue that is served next. */
  #nextReady(): Link<FairQueue<Item>> | null {
    const { first } = this.#ready;
    if (this.#reserved === 0 || this.running < this.#concurrency - this.#reserved) return first;
    let link = first;
    while (link && link.member.running >= this.#reserved) link = link.next;
    return link;
  }

  /** Starts an item without queueing if nothing waits and less than half of the concurrency is used, here and in all parents. */
  tryStart(): boolean {
    if (this.waiting > 0 || this.running >= this.#concurrency / 2) return false;
    if (this.#parent?.tryStart() === false) return false;
    this.running++;
    return true;
  }

  enqueue(item: Item): void {
    this.#items.push(item);
    this.#change(1, 0);
  }

  remove(item: Item): void {
    const index = this.#items.indexOf(item);
    if (index < 0) return;
    this.#items.splice(index, 1);
    this.#change(-1, 0);
  }

  /** Returns one of the waiting items. The queue must be ready. */
  peek(): Item | undefined {
    return this.#nextReady()?.member.peek() ?? this.#items[0];
  }

  /** The waiting items of this queue and of ready child queues. */
  items(): Item[] {
    return [...this.#items, ...this.#ready.members().flatMap((each) => each.items())];
  }

  /** Removes the next item and counts it as running. The queue must be ready. */
  dequeue(): Item {
    const link = this.#nextReady();
    if (!link) return this.#dequeueItem();
    this.#ready.remove(link);
    const next = link.member;
    next.#link = null;
    this.#lastServedMs = next.#servedMs;
    return next.dequeue();
  }

  /** Charges the time that an item took to this queue and its parents. */
  charge(ms: number): void {
    this.#servedMs += ms;
    const parent = this.#parent;
    if (!parent) return;
    if (this.#link) {
      parent.#ready.remove(this.#link);
      this.#link = parent.#insert(this);
    }
    parent.charge(ms);
  }

  /** Must be called once for each item that has run, if the concurrency is limited. */
  release(): void {
    this.#change(0, -1);
  }

  #dequeueItem(): Item {
    let best = 0;
    let most = 0;
    this.#items.forEach(({ priority }, index) => {
      if (priority <= most) return;
      most = priority;
      best = index;
    });
    const [item] = this.#items.splice(best, 1);
    if (!item) throw new TypeError("an empty queue has no next item");
    // A queue that is still ready goes behind its siblings.
    this.#change(-1, 1);
    return item;
  }

  /** Updates the counts of the queue and its parents, and their links in `#ready`. */
  #change(waiting: number, running: number): void {
    const wasBusy = this.waiting > 0;
    this.waiting += waiting;
    this.running += running;
    const parent = this.#parent;
    if (!parent) return;
    parent.busy += Number(this.waiting > 0) - Number(wasBusy);
    if (this.isReady()) this.#link ??= parent.#insert(this);
    else if (this.#link) {
      parent.#ready.remove(this.#link);
      this.#link = null;
    }
    parent.#change(waiting, running);
  }

  #insert(queue: FairQueue<Item>): Link<FairQueue<Item>> {
    queue.#servedMs = Math.max(queue.#servedMs, this.#lastServedMs);
    return this.#ready.add(queue, queue.#servedMs);
  }
}

/**
 * One fair queue for each caller. Those of unverified callers are children of the queue of their address, so that inventing tokens gains
 * nothing. At most `perCaller` items of a caller with a token run at a time.
 */
export class CallerQueues<Item extends Prioritized> {
  readonly #verified: PerCaller<FairQueue<Item>>;
  readonly #unverified: PerCaller<FairQueue<Item>>;

  constructor(
    callers: CallerRegistry,
    verified: FairQueue<Item>,
    addresses: FairQueue<Item>,
    perCaller?: number,
  ) {
    this.#verified = callers.perCaller(() => new FairQueue(verified, perCaller));
    this.#unverified = callers.perCaller(({ address, token }) =>
      token === null ? new FairQueue(addresses) : new FairQueue(this.#unverified.of(address), perCaller),
    );
  }

  of(caller: Caller): FairQueue<Item> {
    return (caller.verification === "verified" ? this.#verified : this.#unverified).of(caller);
  }
}
