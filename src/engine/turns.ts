import { AccountRooms, type Caller, type Callers, type Entered } from "../caller.ts";
import { type Link, TransientList } from "../transient.ts";

/*
 * Time slices for work that could block the event loop. Such work checks whether the slice is over and, if so, waits
 * for the next one, so that sockets, timers and probes are served in between. All gateways of a process share one
 * slice, because they block the same loop. The callers of each gateway take turns among themselves.
 *
 * Own code: packages that yield (p-event-loop and similar) yield on every call, or are not fair.
 */

/** How long the event loop may be blocked, in milliseconds. */
const SLICE_MS = 3;

/** When the current slice ends; null until the first check in this turn of the event loop. */
let sliceEnd: number | null = null;

/** Whether the current time slice is over. */
export function isSliceOver(): boolean {
  const now = performance.now();
  if (sliceEnd !== null) return now >= sliceEnd;
  sliceEnd = now + SLICE_MS;
  setImmediate(() => {
    sliceEnd = null;
  });
  return false;
}

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

type Work = () => void;

let due: Work[] = [];

/**
 * Does the work after the sockets that are ready in this turn of the event loop have been read, together with all other
 * such work. Many pieces of the same work in a row cost much less than the same pieces between other work: code and
 * data stay in the processor's caches, and the process at the other end of the connections wakes up once.
 */
export function atEndOfTurn(work: Work): void {
  if (due.push(work) > 1) return;
  setImmediate(() => {
    const all = due;
    due = [];
    doAll(all, 0);
  });
}

/** Does all the work from an index on. If one piece throws, the rest is still done. */
function doAll(all: readonly Work[], from: number): void {
  let index = from;
  try {
    for (; index < all.length; index++) all[index]?.();
  } finally {
    if (index < all.length) setImmediate(doAll, all, index + 1);
  }
}

/** Members that take turns: accounts, the callers of an address, or the queues of a caller. */
class Round {
  readonly #above: Round | null;
  readonly #members = new TransientList<Round | SliceQueue>();
  /** The place in the round above; null while nothing waits. */
  #place: Link<Round | SliceQueue> | null = null;

  constructor(above: Round | null) {
    this.#above = above;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /** Adds a member behind the others. */
  add(member: Round | SliceQueue): Link<Round | SliceQueue> {
    this.#place ??= this.#above?.add(this) ?? null;
    return this.#members.add(member);
  }

  remove(place: Link<Round | SliceQueue>): void {
    this.#members.remove(place);
    if (!this.isEmpty || !this.#place) return;
    this.#above?.remove(this.#place);
    this.#place = null;
  }

  /** Does one piece of work of the first member, which then goes behind the others. */
  serveNext(): void {
    const next = this.#members.takeFirst();
    if (!(next instanceof Round)) return next?.serveNext();
    next.#place = this.#members.add(next);
    next.serveNext();
  }
}

/**
 * The turns of a gateway. Its callers take turns, one piece of work each, and so do the queues of a caller: neither a long
 * queue nor a caller with many queues delays the others.
 */
export class Turns {
  readonly #accounts = new Round(null);
  readonly #rounds: AccountRooms<Round>;

  constructor(callers: Callers) {
    this.#rounds = new AccountRooms(callers, {
      address: () => new Round(this.#accounts),
      caller: (address) => new Round(address ?? this.#accounts),
    });
  }

  /** Does the work when it is the caller's turn: now, or in a later time slice. */
  readonly take = (caller: Caller, work: Work): void => {
    if (!this.isWaiting() && !isSliceOver()) work();
    else this.queueOf(caller).add(work);
  };

  /** The same for work of one operation, with one queue for all of it. */
  readonly turnsFor = (caller: Caller): ((work: Work) => void) => {
    let queue: SliceQueue | null = null;
    return (work) => {
      if (!this.isWaiting() && !isSliceOver()) work();
      else (queue ??= this.queueOf(caller)).add(work);
    };
  };

  queueOf(caller: Caller): SliceQueue {
    return new SliceQueue(this, caller);
  }

  isWaiting(): boolean {
    return !this.#accounts.isEmpty;
  }

  /** Enters a caller with work that waits from now on. Must be left once, when none waits. */
  enter(caller: Caller): Entered<Round> {
    if (!this.isWaiting()) serveLater(this);
    return this.#rounds.enter(caller);
  }

  /** Does one piece of work of the next caller. */
  serveNext(): void {
    this.#accounts.serveNext();
  }
}

/** A FIFO queue of one request's work that waits for a time slice. */
export class SliceQueue {
  readonly caller: Caller;
  readonly #turns: Turns;
  /** The turns of its caller, and its place in them; null while nothing waits. */
  #entered: Entered<Round> | null = null;
  #place: Link<Round | SliceQueue> | null = null;
  #waiting: Work[] = [];
  /** Index of the first waiting work: shifting a long array is slow. */
  #first = 0;
  #onEmpty: Work[] = [];

  constructor(turns: Turns, caller: Caller) {
    this.#turns = turns;
    this.caller = caller;
  }

  isEmpty(): boolean {
    return this.#first === this.#waiting.length;
  }

  /** Does the work in its turn, in a later turn of the event loop. */
  add(work: Work): void {
    this.#waiting.push(work);
    this.#entered ??= this.#turns.enter(this.caller);
    this.#place ??= this.#entered.part.add(this);
  }

  /** Calls back after the last waiting work is done; not after `clear`. */
  onEmpty(callback: Work): void {
    this.#onEmpty.push(callback);
  }

  /** Drops all waiting work. */
  clear(): void {
    this.#empty();
    this.#onEmpty = [];
    this.#leave();
  }

  /** Does the first waiting work. The other queues of the caller then go first. */
  serveNext(): void {
    const work = this.#waiting[this.#first++];
    if (this.isEmpty()) {
      this.#empty();
      this.#leave();
    } else this.#place = this.#entered?.part.add(this) ?? null;
    work?.();
    if (this.isEmpty()) for (const callback of this.#onEmpty.splice(0)) callback();
  }

  #empty(): void {
    this.#waiting = [];
    this.#first = 0;
  }

  #leave(): void {
    const entered = this.#entered;
    if (this.#place) entered?.part.remove(this.#place);
    this.#place = null;
    this.#entered = null;
    entered?.leave();
  }
}

/** The gateways of this process with waiting work, the next one first. */
const gateways: Turns[] = [];
let isServing = false;

function serveLater(turns: Turns): void {
  if (!gateways.includes(turns)) gateways.push(turns);
  if (isServing) return;
  isServing = true;
  setImmediate(serve);
}

/**
 * Does one piece of work for each gateway in turn until the slice is over, and continues in the next turn of the loop.
 */
function serve(): void {
  isServing = false;
  while (gateways.length > 0 && !isSliceOver()) {
    const turns = gateways.shift();
    if (!turns?.isWaiting()) continue;
    gateways.push(turns);
    turns.serveNext();
  }
  for (const turns of gateways) serveLater(turns);
}
