import type { Caller, Callers, Kept } from "../caller.ts";
import { CallerLines, Line } from "../line.ts";
import { TransientList } from "../transient.ts";

/*
 * Time slices for work that could block the event loop. Such work checks whether the slice is over and, if so, waits
 * for the next one, so that sockets, timers and probes are served in between. All gateways of a process share one
 * slice, because they block the same loop. The callers of each gateway take turns among themselves.
 *
 * Own code: packages that yield (p-event-loop and similar) yield on every call, or are not fair.
 */

/** How long the event loop may be blocked, in milliseconds. */
const SLICE_MS = 3;

/** How long one queue is served: to give the turn to another one takes as long as to parse a short response. */
const TURN_MS = 0.25;

/** When the current slice ends; null until the first check in this turn of the event loop. */
let sliceEnd: number | null = null;

export function isSliceOver(): boolean {
  const now = performance.now();
  if (sliceEnd !== null) return now >= sliceEnd;
  sliceEnd = now + SLICE_MS;
  setImmediate(() => void (sliceEnd = null));
  return false;
}

let lastTurn: Promise<void> = Promise.resolve();

/** Resolves in a later turn of the event loop. Of those that wait, each continues in a turn of its own. */
export const nextTurn = (): Promise<void> =>
  (lastTurn = lastTurn.then(() => new Promise((resolve) => void setImmediate(resolve))));

type Work = () => void;

let due: Work[] = [];

/**
 * Does the work after the sockets that are ready in this turn of the event loop have been read, together with all other
 * such work. Many pieces of the same work in a row cost much less than the same pieces between other work: code and
 * data stay in the processor's caches, and the process at the other end of the connections wakes up once. If one piece
 * throws, the rest is still done.
 */
export function atEndOfTurn(work: Work): void {
  if (due.push(work) > 1) return;
  setImmediate(() => {
    const all = due;
    due = [];
    for (const each of all) {
      try {
        each();
      } catch (error) {
        setImmediate(() => {
          throw error;
        });
      }
    }
  });
}

/**
 * The turns of a gateway. Its callers take turns, a moment each, and so do the queues of a caller: neither a long
 * queue nor a caller with many queues delays the others.
 */
export class Turns {
  readonly #queues = new Line<SliceQueue>(null);
  readonly #lines: CallerLines<SliceQueue>;
  /** What belongs to no queue of a caller's operations: its responses, and operations that begin. */
  readonly #own: Kept<SliceQueue>;
  #isServing = false;

  constructor(callers: Callers) {
    this.#own = callers.keep((caller) => this.queueOf(caller));
    this.#lines = new CallerLines(callers, this.#queues, this.#queues);
  }

  /** Does the work when it is the caller's turn: now, or in a later time slice. */
  readonly take = (caller: Caller, work: Work): void => {
    if (!this.isWaiting() && !isSliceOver()) work();
    else this.#own.of(caller).add(work);
  };

  queueOf(caller: Caller): SliceQueue {
    return new SliceQueue(this, caller);
  }

  isWaiting(): boolean {
    return this.#queues.isReady();
  }

  /** The line of the queues of a caller, in which work waits from now on. */
  lineOf(caller: Caller): Line<SliceQueue> {
    if (!this.isWaiting()) this.#serveLater();
    return this.#lines.of(caller);
  }

  #serveLater(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    setImmediate(() => this.#serve());
  }

  /**
   * Serves a time slice. What follows from its first piece of work is done before the rest: the caller who has spent the least need
   * not wait for another slice.
   */
  #serve(): void {
    void Promise.resolve().then(() => process.nextTick(() => this.#serveRest()));
    // Begins the slice. One queue is served even if another gateway has used it up, which may be so every time.
    isSliceOver();
    if (this.isWaiting()) this.#queues.takeNext().serveNext();
  }

  #serveRest(): void {
    this.#isServing = false;
    while (this.isWaiting() && !isSliceOver()) this.#queues.takeNext().serveNext();
    if (this.isWaiting()) this.#serveLater();
  }
}

/** A FIFO queue of one request's work that waits for a time slice. */
export class SliceQueue {
  readonly positions = 1;
  readonly #turns: Turns;
  readonly #caller: Caller;
  /** The queues of its caller; null while nothing waits. */
  #line: Line<SliceQueue> | null = null;
  #waiting = new TransientList<Work>();
  #onEmpty: Work[] = [];

  constructor(turns: Turns, caller: Caller) {
    this.#turns = turns;
    this.#caller = caller;
  }

  isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Does the work in its turn, in a later turn of the event loop. */
  add(work: Work): void {
    this.#waiting.add(work);
    if (this.#line) return;
    this.#line = this.#turns.lineOf(this.#caller);
    this.#line.add(this);
  }

  /** Calls back after the last waiting work is done; not after `clear`. */
  onEmpty(callback: Work): void {
    this.#onEmpty.push(callback);
  }

  clear(): void {
    this.#line?.remove(this);
    this.#line = null;
    this.#waiting = new TransientList();
    this.#onEmpty = [];
  }

  /** Does waiting work for the length of a turn. The other queues of the caller then go first. */
  serveNext(): void {
    const line = this.#line;
    line?.leave();
    const begun = performance.now();
    let spent = 0;
    while (!this.isEmpty() && spent < TURN_MS) {
      this.#waiting.takeFirst()?.();
      spent = performance.now() - begun;
    }
    line?.spend(spent);
    if (!this.isEmpty()) return void line?.add(this);
    this.#line = null;
    for (const callback of this.#onEmpty.splice(0)) callback();
  }
}
