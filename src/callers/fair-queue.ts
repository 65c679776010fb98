import type { Caller, CallerRegistry, PerCaller } from "./callers.ts";
import { type Link, LinkedList } from "../util/linked-list.ts";

/** Items with a higher priority go first. Of a read it is the number of result positions that wait for it. */
export interface Prioritized {
  readonly priority: number;
}

interface FairQueueOptions {
  /** Maximum running items of the queue and those below it. It may change; a lower value interrupts nothing. */
  readonly concurrency?: () => number;
  /** How much of the concurrency is kept for child queues with fewer running items than that. */
  readonly reserved?: () => number;
  /** How many items of such child queues may run beyond a concurrency that was reduced. */
  readonly overflow?: () => number;
  /** Charged for each item: a queue with a cost of 3 is served once for three items of a sibling with 1. 0: only time is charged. */
  readonly cost?: number | undefined;
}

const UNLIMITED = (): number => Number.POSITIVE_INFINITY;
const NONE = (): number => 0;

/**
 * A hierarchical fair queue (gateway, caller, operation). Sibling queues are served least-served first where time or a cost is charged,
 * otherwise round-robin. `concurrency` caps the number of running items of a queue and those below it. Within one queue the item with the
 * highest priority goes first.
 */
export class FairQueue<Item extends Prioritized> {
  readonly #parent: FairQueue<Item> | null;
  readonly #concurrency: () => number;
  readonly #reserved: () => number;
  readonly #overflow: () => number;
  readonly #cost: number;
  /** Child queues that are ready, in the order in which they are served. */
  #ready: LinkedList<FairQueue<Item>> | null = null;
  /** Its link in `#ready` of the parent; null while the queue is not ready. */
  #link: Link<FairQueue<Item>> | null = null;
  /** Time and cost charged to it. A queue that was idle starts level with its siblings: idle time earns no credit. */
  #served = 0;
  /** `#served` of the child that was served last. */
  #lastServed = 0;
  /** Items that wait in this queue itself. */
  #items: Item[] = [];
  #isBlocked = false;
  /** Items that were started beyond the concurrency, and for which none has ended since. */
  #excess = 0;
  running = 0;
  /** Number of waiting items, those of child queues included. */
  waiting = 0;
  /** Child queues with waiting items. */
  #busy: LinkedList<FairQueue<Item>> | null = null;
  /** Its link in `#busy` of the parent; null while nothing waits. */
  #busyLink: Link<FairQueue<Item>> | null = null;

  constructor(
    parent: FairQueue<Item> | null,
    { concurrency = UNLIMITED, reserved = NONE, overflow = NONE, cost = 0 }: FairQueueOptions = {},
  ) {
    this.#parent = parent;
    this.#concurrency = concurrency;
    this.#reserved = reserved;
    this.#overflow = overflow;
    this.#cost = cost;
  }

  /** Number of child queues with waiting items. */
  get busy(): number {
    return this.#busy?.size ?? 0;
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** A blocked queue is passed over: its items wait for something else than their turn, such as a rate limit. */
  set isBlocked(isBlocked: boolean) {
    if (this.#isBlocked === isBlocked) return;
    this.#isBlocked = isBlocked;
    this.#change(0, 0);
  }

  /** Whether an item waits that may run now. */
  isReady(): boolean {
    if (this.#isBlocked || !this.#hasRoom()) return false;
    return this.#items.length > 0 || this.#nextReady() !== null;
  }

  /** Whether one more item may run, if only one of a child queue with few running items. */
  #hasRoom(): boolean {
    return this.running < this.#concurrency() || this.#excess < this.#overflow();
  }

  /** The child queue that is served next. */
  #nextReady(): Link<FairQueue<Item>> | null {
    const first = this.#ready?.first ?? null;
    if (!first || !this.#hasRoom()) return null;
    const reserved = this.#reserved();
    const most =
      this.running < this.#concurrency() - reserved ? Number.POSITIVE_INFINITY : Math.max(1, reserved);
    let link: Link<FairQueue<Item>> | null = first;
    // A concurrency may have been reduced since a child was linked.
    while (link && (link.member.running >= most || !link.member.isReady())) link = link.next;
    return link;
  }

  /** Starts an item without queueing if no other is ready and less than half of the concurrency is used, here and in all parents. */
  tryStart(): boolean {
    const isContended = this.#items.length > 0 || this.#ready?.first;
    if (isContended || this.#isBlocked || this.running >= this.#concurrency() / 2) return false;
    if (this.#parent?.tryStart() === false) return false;
    this.running++;
    return true;
  }

  /** Whether at least half of the concurrency is used, here or in a parent. */
  isHalfUsed(): boolean {
    return this.running >= this.#concurrency() / 2 || this.#parent?.isHalfUsed() === true;
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

  /** The waiting items of this queue and its child queues. */
  items(): Item[] {
    return [...this.#items, ...(this.#busy?.members().flatMap((each) => each.items()) ?? [])];
  }

  /** Removes the next item and counts it as running. The queue must be ready. */
  dequeue(): Item {
    const link = this.#nextReady();
    if (this.running >= this.#concurrency()) this.#excess++;
    if (!link) return this.#dequeueItem();
    this.#ready?.remove(link);
    const next = link.member;
    next.#link = null;
    this.#lastServed = next.#served;
    next.#served += next.#cost;
    return next.dequeue();
  }

  /** Charges the time that an item took to this queue and its parents. */
  charge(ms: number): void {
    this.#served += ms;
    const parent = this.#parent;
    if (!parent) return;
    if (this.#link) {
      parent.#ready?.remove(this.#link);
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
    this.waiting += waiting;
    this.running += running;
    if (running < 0 && this.#excess > 0) this.#excess--;
    const parent = this.#parent;
    if (!parent) return;
    if (this.waiting > 0) this.#busyLink ??= (parent.#busy ??= new LinkedList()).add(this);
    else if (this.#busyLink) {
      parent.#busy?.remove(this.#busyLink);
      this.#busyLink = null;
    }
    if (this.isReady()) this.#link ??= parent.#insert(this);
    else if (this.#link) {
      parent.#ready?.remove(this.#link);
      this.#link = null;
    }
    parent.#change(waiting, running);
  }

  #insert(queue: FairQueue<Item>): Link<FairQueue<Item>> {
    queue.#served = Math.max(queue.#served, this.#lastServed);
    this.#ready ??= new LinkedList();
    return this.#ready.add(queue, queue.#served);
  }
}

/**
 * One fair queue for each caller. Those of unverified callers are children of the queue of their address, so that inventing tokens gains
 * nothing. `options` are those of the queue of each token.
 */
export class CallerQueues<Item extends Prioritized> {
  readonly #verified: PerCaller<FairQueue<Item>>;
  readonly #unverified: PerCaller<FairQueue<Item>>;

  constructor(
    callers: CallerRegistry,
    verified: FairQueue<Item>,
    addresses: FairQueue<Item>,
    options: FairQueueOptions,
  ) {
    const { cost } = options;
    this.#verified = callers.perCaller(() => new FairQueue(verified, options));
    this.#unverified = callers.perCaller(({ address, token }) =>
      token === null
        ? new FairQueue(addresses, { cost })
        : new FairQueue(this.#unverified.of(address), options),
    );
  }

  of(caller: Caller): FairQueue<Item> {
    return (caller.verification === "verified" ? this.#verified : this.#unverified).of(caller);
  }
}
