import type { Caller, Callers, Kept } from "./caller.ts";
import { type Link, TransientList } from "./transient.ts";

/** How many positions of results wait for something now. */
export interface Demand {
  readonly positions: number;
}

/**
 * A line of what waits for its turn: requests for a connection or for their pace, work for a time slice. Lines form a tree:
 * the root for all callers, one per caller, one per operation. The lines of each level take turns, those first that have
 * spent the least time where that is counted, and each lets at most `width` items run at a time, where that is a number. Within a
 * line the item with the most demand goes first.
 */
export class Line<Item extends Demand> {
  readonly #parent: Line<Item> | null;
  readonly #width: number;
  /** Lines below that are ready, in the order of their turns. */
  readonly #ready = new TransientList<Line<Item>>();
  /** The place in the turns of the parent; null while the line is not ready. */
  #turn: Link<Line<Item>> | null = null;
  /** Milliseconds that its items have spent. A line that was idle begins with as much as the others: it has saved up nothing. */
  #spent = 0;
  /** What the line below whose turn was last had spent. */
  #lastSpent = 0;
  /** What waits in this line itself: the requests of an operation, or the queues of a caller. */
  #items: Item[] = [];
  running = 0;
  /** Number of waiting items, those of the lines below included. */
  waiting = 0;
  /** Number of lines below with waiting items. */
  busy = 0;

  constructor(parent: Line<Item> | null, width = Number.POSITIVE_INFINITY) {
    this.#parent = parent;
    this.#width = width;
  }

  /** Whether something waits for which there is room. */
  isReady(): boolean {
    return this.running < this.#width && this.#ready.size + this.#items.length > 0;
  }

  /** Runs an item at once, without an order among those of a tick, while less than half is used here and above. */
  takeAtOnce(): boolean {
    if (this.waiting > 0 || this.running >= this.#width / 2) return false;
    if (this.#parent?.takeAtOnce() === false) return false;
    this.running++;
    return true;
  }

  add(item: Item): void {
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
  takeNext(): Item {
    const next = this.#ready.takeFirst();
    if (!next) return this.#takeItem();
    next.#turn = null;
    this.#lastSpent = next.#spent;
    return next.takeNext();
  }

  /** Counts the time that an item of this line, or of a line below, took of all. */
  spend(ms: number): void {
    this.#spent += ms;
    const parent = this.#parent;
    if (!parent) return;
    if (this.#turn) {
      parent.#ready.remove(this.#turn);
      this.#turn = parent.#queue(this);
    }
    parent.spend(ms);
  }

  /** Must be called once for each item that runs, when it has ended, where the width is a number. */
  leave(): void {
    this.#change(0, -1);
  }

  #takeItem(): Item {
    let best = 0;
    let most = 0;
    this.#items.forEach(({ positions }, index) => {
      if (positions <= most) return;
      most = positions;
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
    if (this.isReady()) this.#turn ??= parent.#queue(this);
    else if (this.#turn) {
      parent.#ready.remove(this.#turn);
      this.#turn = null;
    }
    parent.#change(waiting, running);
  }

  #queue(line: Line<Item>): Link<Line<Item>> {
    line.#spent = Math.max(line.#spent, this.#lastSpent);
    return this.#ready.add(line, line.#spent);
  }
}

/**
 * The lines of callers: those of proven callers below one line, those of addresses below another, and below these those of
 * their strangers. So inventing tokens gains no turns. Each caller with a token has at most `perCaller` items running.
 */
export class CallerLines<Item extends Demand> {
  readonly #proven: Kept<Line<Item>>;
  readonly #unproven: Kept<Line<Item>>;

  constructor(callers: Callers, proven: Line<Item>, addresses: Line<Item>, perCaller?: number) {
    this.#proven = callers.keep(() => new Line(proven, perCaller));
    this.#unproven = callers.keep(({ address, token }) =>
      token === null ? new Line(addresses) : new Line(this.#unproven.of(address), perCaller),
    );
  }

  of(caller: Caller): Line<Item> {
    return (caller.standing === "proven" ? this.#proven : this.#unproven).of(caller);
  }
}
