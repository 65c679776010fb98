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

/** A FIFO queue of one request's work that waits for a time slice. */
export interface SliceQueue {
  /** Resolves with the value in its turn: in this slice or in a later one. */
  readonly wait: <Value>(value: Value) => Promise<Value>;
  readonly isEmpty: () => boolean;
  /** Calls back after the last waiting value is released; not after `clear`. */
  readonly onEmpty: (callback: () => void) => void;
  /** Drops all waiting values. Their promises never settle. */
  readonly clear: () => void;
}

interface Waiting {
  readonly release: () => void;
  next: Waiting | null;
}

interface Waiters {
  first: Waiting | null;
  last: Waiting | null;
  empty: (() => void)[];
}

/**
 * Queues with waiting values, by caller. Callers take turns, one release each, and so do the queues of a caller: neither
 * a long queue nor a caller with many queues delays the others.
 */
const callers = new Map<string, Set<Waiters>>();
let isServing = false;

function queuesOf(callerKey: string): Set<Waiters> {
  const queues = callers.get(callerKey) ?? new Set<Waiters>();
  callers.set(callerKey, queues);
  return queues;
}

function remove(callerKey: string, queue: Waiters): void {
  const queues = callers.get(callerKey);
  queues?.delete(queue);
  if (queues?.size === 0) callers.delete(callerKey);
}

export function openSliceQueue(callerKey: string): SliceQueue {
  const queue: Waiters = { first: null, last: null, empty: [] };
  return {
    wait: (value) =>
      new Promise((resolve) => {
        const waiting: Waiting = { release: () => resolve(value), next: null };
        if (queue.last) queue.last.next = waiting;
        else queue.first = waiting;
        queue.last = waiting;
        queuesOf(callerKey).add(queue);
        if (!isServing) void serve();
      }),
    isEmpty: () => queue.first === null,
    onEmpty: (callback) => void queue.empty.push(callback),
    clear: () => {
      Object.assign(queue, { first: null, last: null, empty: [] });
      remove(callerKey, queue);
    },
  };
}

/** Resolves when it is the caller's turn: immediately, or in a later time slice. */
export const takeTurn = (callerKey: string): Promise<void> => openSliceQueue(callerKey).wait(undefined);

async function serve(): Promise<void> {
  isServing = true;
  while (callers.size > 0) {
    if (isSliceOver()) await nextTurn();
    await serveSlice();
  }
  isServing = false;
}

async function serveSlice(): Promise<void> {
  while (!isSliceOver()) {
    const [next] = callers;
    if (!next) return;
    const [callerKey, queues] = next;
    // Re-inserted at the end, behind the other callers.
    callers.delete(callerKey);
    callers.set(callerKey, queues);
    serveNext(callerKey, queues);
    // Lets the released work run, as a microtask, before the next release.
    await undefined;
  }
}

function serveNext(callerKey: string, queues: Set<Waiters>): void {
  const [queue] = queues;
  if (!queue?.first) return;
  queues.delete(queue);
  queue.first.release();
  queue.first = queue.first.next;
  if (queue.first) {
    queues.add(queue);
    return;
  }
  remove(callerKey, queue);
  queue.last = null;
  for (const callback of queue.empty.splice(0)) callback();
}
