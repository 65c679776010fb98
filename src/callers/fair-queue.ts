import type { Caller, CallerRegistry, PerCaller } from "./callers.ts";
import { type Link, LinkedList } from "../util/linked-list.ts";

/** How many positions of results wait for something now. */
export interface Prioritized {
  readonly priority: number;
}

/**
 * A line of what waits for its turn: requests for a connection or for their pace, work for a time slice. Lines form a tree:
 * the root for all callers, one per caller, one per operation. The lines of each level take turns, those first that have
 * spent the least time where that is counted, and each lets at most `width` items run at a time, where that is a number. Within a
 * line the item with the most demand goes first.
 */
export class FairQueue<Item extends Prioritized> {
  readonly #parent: FairQueue<Item> | null;
  readonly #concurrency: number;
  /** Lines below that are ready, in the order of their turns. */
  readonly #ready = new LinkedList<FairQueue<Item>>();
  /** The place in the turns of the parent; null while the line is not ready. */
  #link: Link<FairQueue<Item>> | null = null;
  /** Milliseconds that its items have spent. A line that was idle begins with as much as the others: it has saved up nothing. */
  #servedMs = 0;
  /** What the line below whose turn was last had spent. */
  #lastServedMs = 0;
  /** What waits in this line itself: the requests of an operation, or the queues of a caller. */
  #items: Item[] = [];
  running = 0;
  /** Number of waiting items, those of the lines below included. */
  waiting = 0;
  /** Number of lines below with waiting items. */
  busy = 0;

  constructor(parent: FairQueue<Item> | null, concurrency = Number.POSITIVE_INFINITY) {
    this.#parent = parent;
    this.#concurrency = concurrency;
  }

  /** Whether something waits for which there is room. */
  isReady(): boolean {
    return this.running < this.#concurrency && this.#ready.size + this.#items.length > 0;
  }

  /** Runs an item at once, without an order among those of a tick, while less than half is used here and above. */
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

  /** One of the waiting items. The line must be ready. */
  peek(): Item | undefined {
    return this.#ready.first?.member.peek() ?? this.#items[0];
  }

  /** The waiting items for which there is room, those of the lines below included. */
  items(): Item[] {
    return [...this.#items, ...this.#ready.members().flatMap((each) => each.items())];
  }

  /** Removes the next item, which runs from now on. The line must be ready. */
  dequeue(): Item {
    const next = this.#ready.takeFirst();
    if (!next) return this.#dequeueItem();
    next.#link = null;
    this.#lastServedMs = next.#servedMs;
    return next.dequeue();
  }

  /** Counts the time that an item of this line, or of a line below, took of all. */
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

  /** Must be called once for each item that runs, when it has ended, where the width is a number. */
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
    if (!item) throw new TypeError("a line without items has no next one");
    // Lines that are still ready go behind the others.
    this.#change(-1, 1);
    return item;
  }

  /** Updates the counts of the line and those above it, and adds each to or removes it from its parent's turns. */
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
 * The lines of callers: those of proven callers below one line, those of addresses below another, and below these those of
 * their strangers. So inventing tokens gains no turns. Each caller with a token has at most `perCaller` items running.
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
