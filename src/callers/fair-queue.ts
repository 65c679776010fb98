import type { Caller, CallerRegistry, PerCaller } from "./callers.ts";
import { type Link, LinkedList } from "../util/linked-list.ts";

/** Items with a higher priority go first. The priority of a read is the number of positions in the result that wait for it. */
export interface Prioritized {
  readonly priority: number;
}

interface FairQueueOptions {
  /** Maximum running items of the queue and its child queues. The value may change; a lower value interrupts no running item. */
  readonly concurrency?: () => number;
  /** Number of running items that are reserved for child queues which run few items, that is, fewer than this number. */
  readonly guaranteed?: () => number;
  /** Number of items that may start above a reduced concurrency, from child queues with fewer running items than `guaranteed`. */
  readonly burst?: () => number;
  /** Cost of each item: a queue with cost 3 is served once for every three items of a sibling with cost 1. With 0, only time counts. */
  readonly cost?: number | undefined;
}

const UNLIMITED = (): number => Number.POSITIVE_INFINITY;
const NONE = (): number => 0;

/**
 * A hierarchical fair queue (gateway, caller, operation). Sibling queues are served least-served first if time or a cost is charged,
 * otherwise round-robin. `concurrency` caps the number of running items of a queue and its child queues. Within one queue the item with the
 * highest priority goes first.
 */
export class FairQueue<Item extends Prioritized> {
  readonly #parent: FairQueue<Item> | null;
  readonly #concurrency: () => number;
  readonly #guaranteed: () => number;
  readonly #burst: () => number;
  readonly #cost: number;
  /** Child queues that are ready, in the order in which they are served. */
  #readyChildren: LinkedList<FairQueue<Item>> | null = null;
  /** Link of this queue in `#readyChildren` of the parent; null while this queue is not ready. */
  #readyLink: Link<FairQueue<Item>> | null = null;
  /** Time and cost charged to this queue. A queue that was idle starts level with its siblings, so idle time earns no credit. */
  #served = 0;
  /** `#served` of the child that was served last. */
  #lastServed = 0;
  /** Items that wait in this queue itself, not in a child queue. */
  #items: Item[] = [];
  #isBlocked = false;
  /** Number of items that were started beyond the concurrency. Each item that ends reduces it by one. */
  #excess = 0;
  running = 0;
  /** Number of waiting items, including the items of child queues. */
  waiting = 0;
  /** Child queues with waiting items. */
  #activeChildren: LinkedList<FairQueue<Item>> | null = null;
  /** Link of this queue in `#activeChildren` of the parent; null while no item waits. */
  #activeLink: Link<FairQueue<Item>> | null = null;

  constructor(
    parent: FairQueue<Item> | null,
    { concurrency = UNLIMITED, guaranteed = NONE, burst = NONE, cost = 0 }: FairQueueOptions = {},
  ) {
    this.#parent = parent;
    this.#concurrency = concurrency;
    this.#guaranteed = guaranteed;
    this.#burst = burst;
    this.#cost = cost;
  }

  get activeChildCount(): number {
    return this.#activeChildren?.size ?? 0;
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** A blocked queue is passed over, because its items wait for something else, such as a rate limit. */
  set isBlocked(isBlocked: boolean) {
    if (this.#isBlocked === isBlocked) return;
    this.#isBlocked = isBlocked;
    this.#change(0, 0);
  }

  /** Whether a waiting item may run now. */
  isReady(): boolean {
    if (this.#isBlocked || !this.#hasRoom()) return false;
    return this.#items.length > 0 || this.#nextReady() !== null;
  }

  /** Whether one more item may run, possibly only an item of a child queue with few running items. */
  #hasRoom(): boolean {
    return this.running < this.#concurrency() || this.#excess < this.#burst();
  }

  /** The link of the child queue to serve next; null if none may run an item. */
  #nextReady(): Link<FairQueue<Item>> | null {
    const first = this.#readyChildren?.first ?? null;
    if (!first || !this.#hasRoom()) return null;
    const reserved = this.#guaranteed();
    const most =
      this.running < this.#concurrency() - reserved ? Number.POSITIVE_INFINITY : Math.max(1, reserved);
    let link: Link<FairQueue<Item>> | null = first;
    // The concurrency of a child may have been reduced since the child was linked.
    while (link && (link.member.running >= most || !link.member.isReady())) link = link.next;
    return link;
  }

  /** Counts an item as running if no item is ready and less than half of the concurrency is used, here and in all parents. */
  tryStart(): boolean {
    const isContended = this.#items.length > 0 || this.#readyChildren?.first;
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

  /** Returns a waiting item without removing it. The queue must be ready. */
  peek(): Item | undefined {
    return this.#nextReady()?.member.peek() ?? this.#items[0];
  }

  /** The waiting items of this queue and its child queues. */
  items(): Item[] {
    return [...this.#items, ...(this.#activeChildren?.members().flatMap((each) => each.items()) ?? [])];
  }

  /** Removes the next item and counts it as running. The queue must be ready. */
  dequeue(): Item {
    const link = this.#nextReady();
    if (this.running >= this.#concurrency()) this.#excess++;
    if (!link) return this.#dequeueItem();
    this.#readyChildren?.remove(link);
    const next = link.member;
    next.#readyLink = null;
    this.#lastServed = next.#served;
    next.#served += next.#cost;
    return next.dequeue();
  }

  /** Charges the queue and its parents for the time that an item took. */
  charge(ms: number): void {
    this.#served += ms;
    const parent = this.#parent;
    if (!parent) return;
    if (this.#readyLink) {
      parent.#readyChildren?.remove(this.#readyLink);
      this.#readyLink = parent.#insert(this);
    }
    parent.charge(ms);
  }

  /** Must be called once at the end of each item, unless the concurrency is unlimited. */
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
    // A queue that is still ready is moved behind its siblings.
    this.#change(-1, 1);
    return item;
  }

  /** Updates the counts of the queue and its parents, and their links in `#readyChildren` and `#activeChildren`. */
  #change(waiting: number, running: number): void {
    this.waiting += waiting;
    this.running += running;
    if (running < 0 && this.#excess > 0) this.#excess--;
    const parent = this.#parent;
    if (!parent) return;
    if (this.waiting > 0) this.#activeLink ??= (parent.#activeChildren ??= new LinkedList()).add(this);
    else if (this.#activeLink) {
      parent.#activeChildren?.remove(this.#activeLink);
      this.#activeLink = null;
    }
    if (this.isReady()) this.#readyLink ??= parent.#insert(this);
    else if (this.#readyLink) {
      parent.#readyChildren?.remove(this.#readyLink);
      this.#readyLink = null;
    }
    parent.#change(waiting, running);
  }

  #insert(queue: FairQueue<Item>): Link<FairQueue<Item>> {
    queue.#served = Math.max(queue.#served, this.#lastServed);
    this.#readyChildren ??= new LinkedList();
    return this.#readyChildren.add(queue, queue.#served);
  }
}

/**
 * One fair queue for each caller. The queue of an unverified caller is a child of the queue of its address, so inventing tokens gains
 * nothing. `options` apply to the queue of each token, and `addressOptions` to the queue of each address.
 */
export class CallerQueues<Item extends Prioritized> {
  readonly #verified: PerCaller<FairQueue<Item>>;
  readonly #unverified: PerCaller<FairQueue<Item>>;

  constructor(
    callers: CallerRegistry,
    verified: FairQueue<Item>,
    addresses: FairQueue<Item>,
    options: FairQueueOptions,
    addressOptions: FairQueueOptions = options,
  ) {
    this.#verified = callers.perCaller(() => new FairQueue(verified, options));
    this.#unverified = callers.perCaller(({ addressCaller, token }) =>
      token === null
        ? new FairQueue(addresses, addressOptions)
        : new FairQueue(this.#unverified.of(addressCaller), options),
    );
  }

  of(caller: Caller): FairQueue<Item> {
    return (caller.verification === "verified" ? this.#verified : this.#unverified).of(caller);
  }
}
