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

let arrived: Work[] = [];

/** Does the work two turns of the event loop later, together with all other work that was added in this turn. */
export function afterTwoTurns(work: Work): void {
  arrived.push(work);
  if (arrived.length > 1) return;
  setImmediate(() => {
    const due = arrived;
    arrived = [];
    setImmediate(() => {
      for (const each of due) each();
    });
  });
}

/**
 * Queues with waiting work, by caller. Callers take turns, one piece of work each, and so do the queues of a caller:
 * neither a long queue nor a caller with many queues delays the others.
 */
const callers = new Map<string, Set<SliceQueue>>();
let isServing = false;

/** A FIFO queue of one request's work that waits for a time slice. */
export class SliceQueue {
  readonly #callerKey: string;
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
    const queues = callers.get(this.#callerKey) ?? new Set();
    callers.set(this.#callerKey, queues.add(this));
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
    else callers.set(this.#callerKey, (callers.get(this.#callerKey) ?? new Set()).add(this));
    work?.();
    if (this.isEmpty()) for (const callback of this.#onEmpty.splice(0)) callback();
  }

  #empty(): void {
    this.#waiting = [];
    this.#first = 0;
  }

  #leave(): void {
    const queues = callers.get(this.#callerKey);
    queues?.delete(this);
    if (queues?.size === 0) callers.delete(this.#callerKey);
  }
}

/** Does the work when it is the caller's turn: now, or in a later time slice. */
export function takeTurn(callerKey: string, work: Work): void {
  if (callers.size === 0 && !isSliceOver()) work();
  else new SliceQueue(callerKey).add(work);
}

/** Serves the queues until the slice is over, and goes on in the next turn of the event loop. */
function serve(): void {
  isServing = false;
  for (const [callerKey, queues] of callers) {
    if (isSliceOver()) {
      serveLater();
      return;
    }
    // Re-inserted at the end, behind the other callers.
    callers.delete(callerKey);
    callers.set(callerKey, queues);
    for (const queue of queues) {
      queue.serveNext();
      break;
    }
  }
}

function serveLater(): void {
  if (isServing) return;
  isServing = true;
  setImmediate(serve);
}
