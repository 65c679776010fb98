import { type Place, TransientList, TransientMap } from "../transient.ts";

/*
 * Time slices for work that could block the event loop. Such work checks whether the slice is over and, if so, waits for
 * the next one, so that sockets, timers and probes are served in between. The clock is shared by the whole process,
 * because all requests together block the loop.
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
 * Does the work when the sockets that are ready in this turn of the event loop are read, together with all other such
 * work. Many pieces of the same work in a row cost much less than each in between others: code and data stay in the
 * processor's caches, and what wakes another process finds it awake.
 */
export function atEndOfTurn(work: Work): void {
  if (due.push(work) > 1) return;
  setImmediate(() => {
    const all = due;
    due = [];
    doAll(all, 0);
  });
}

/** Does all the work from an index on. What throws does not keep the rest from being done. */
function doAll(all: readonly Work[], from: number): void {
  let index = from;
  try {
    for (; index < all.length; index++) all[index]?.();
  } finally {
    if (index < all.length) setImmediate(doAll, all, index + 1);
  }
}

/** A caller with waiting work. */
interface Caller {
  readonly key: string;
  readonly queues: TransientList<SliceQueue>;
}

/**
 * Callers take turns, one piece of work each, and so do the queues of a caller: neither a long queue nor a caller with
 * many queues delays the others.
 */
const turns = new TransientList<Caller>();
/** The places of the callers in the turns. */
const callers = new TransientMap<Place<Caller>>();
let isServing = false;

/** A FIFO queue of one request's work that waits for a time slice. */
export class SliceQueue {
  readonly #callerKey: string;
  /** The place among the queues of the caller; null while nothing waits. */
  #place: Place<SliceQueue> | null = null;
  #waiting: Work[] = [];
  /** Index of the first waiting work: shifting a long array is slow. */
  #first = 0;
  #onEmpty: Work[] = [];

  constructor(callerKey: string) {
    this.#callerKey = callerKey;
  }

  isEmpty(): boolean {
    return this.#first === this.#waiting.length;
  }

  /** Does the work in its turn, in a later turn of the event loop. */
  add(work: Work): void {
    this.#waiting.push(work);
    this.#place ??= callerOf(this.#callerKey).queues.add(this);
    serveLater();
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

  /** Starts the first waiting work, and lets the other queues of the caller go first after that. */
  serveNext(): void {
    const work = this.#waiting[this.#first++];
    this.#leave();
    if (this.isEmpty()) this.#empty();
    else this.#place = callerOf(this.#callerKey).queues.add(this);
    work?.();
    if (this.isEmpty()) for (const callback of this.#onEmpty.splice(0)) callback();
  }

  #empty(): void {
    this.#waiting = [];
    this.#first = 0;
  }

  #leave(): void {
    const caller = callers.get(this.#callerKey);
    if (!caller || !this.#place) return;
    const { key, queues } = caller.member;
    queues.remove(this.#place);
    this.#place = null;
    if (queues.size > 0) return;
    turns.remove(caller);
    callers.delete(key);
  }
}

function callerOf(key: string): Caller {
  const existing = callers.get(key);
  if (existing) return existing.member;
  const caller: Caller = { key, queues: new TransientList() };
  callers.set(key, turns.add(caller));
  return caller;
}

/** Does the work when it is the caller's turn: now, or in a later time slice. */
export function takeTurn(callerKey: string, work: Work): void {
  if (turns.size === 0 && !isSliceOver()) work();
  else new SliceQueue(callerKey).add(work);
}

/** Serves the queues until the slice is over, and goes on in the next turn of the event loop. */
function serve(): void {
  isServing = false;
  while (turns.size > 0 && !isSliceOver()) {
    const caller = turns.takeFirst();
    if (!caller) return;
    // Behind the other callers.
    callers.set(caller.key, turns.add(caller));
    caller.queues.first?.member.serveNext();
  }
  if (turns.size > 0) serveLater();
}

function serveLater(): void {
  if (isServing) return;
  isServing = true;
  setImmediate(serve);
}
