/*
 * Time slices. Work that could hold the event loop for long asks here whether its slice is over, and waits for the next
 * one if so: between two slices the loop serves sockets, timers and probes. One clock for the whole process: what
 * counts is how long the loop was held, by however many requests.
 *
 * Own code: packages that yield (p-event-loop and the like) yield on every call, or know nothing of fairness.
 */

/** How long the event loop may be held before other work gets its turn, in milliseconds. */
const SLICE_MS = 3;

/** When the running slice ends; null until work asks for the first time in this turn of the loop. */
let sliceEnd: number | null = null;

/** Whether this turn of the event loop has lasted long enough. */
export function isSliceOver(): boolean {
  const now = performance.now();
  if (sliceEnd !== null) return now >= sliceEnd;
  sliceEnd = now + SLICE_MS;
  setImmediate(() => {
    sliceEnd = null;
  });
  return false;
}

/** The next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Work of one request that waits for a slice, in its order. */
export interface Line {
  /** Gives the value behind what waits already: in this slice, or in a later one. */
  readonly wait: <Value>(value: Value) => Promise<Value>;
  readonly isEmpty: () => boolean;
  /** Calls back after the last that waits was released. Not after `clear`. */
  readonly onEmpty: (callback: () => void) => void;
  /** Forgets what waits: its promises never settle. */
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
 * Lines in which something waits, by their parties. Parties take turns, one release each, and so do the lines of a
 * party: neither a long line nor a caller with many of them holds up the others.
 */
const callers = new Map<string, Set<Waiters>>();
let isServing = false;

function linesOf(callerKey: string): Set<Waiters> {
  const lines = callers.get(callerKey) ?? new Set<Waiters>();
  callers.set(callerKey, lines);
  return lines;
}

function remove(callerKey: string, line: Waiters): void {
  const lines = callers.get(callerKey);
  lines?.delete(line);
  if (lines?.size === 0) callers.delete(callerKey);
}

export function openLine(callerKey: string): Line {
  const line: Waiters = { first: null, last: null, empty: [] };
  return {
    wait: (value) =>
      new Promise((resolve) => {
        const waiting: Waiting = { release: () => resolve(value), next: null };
        if (line.last) line.last.next = waiting;
        else line.first = waiting;
        line.last = waiting;
        linesOf(callerKey).add(line);
        if (!isServing) void serve();
      }),
    isEmpty: () => line.first === null,
    onEmpty: (callback) => void line.empty.push(callback),
    clear: () => {
      Object.assign(line, { first: null, last: null, empty: [] });
      remove(callerKey, line);
    },
  };
}

/** Resolves when it is the turn of a party: at once, or in a later time slice. */
export const takeTurn = (callerKey: string): Promise<void> => openLine(callerKey).wait(undefined);

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
    const [callerKey, lines] = next;
    // To the end: the other parties have their turns before.
    callers.delete(callerKey);
    callers.set(callerKey, lines);
    serveNext(callerKey, lines);
    // What was released runs as a microtask, before this goes on.
    await undefined;
  }
}

function serveNext(callerKey: string, lines: Set<Waiters>): void {
  const [line] = lines;
  if (!line?.first) return;
  lines.delete(line);
  line.first.release();
  line.first = line.first.next;
  if (line.first) {
    lines.add(line);
    return;
  }
  remove(callerKey, line);
  line.last = null;
  for (const callback of line.empty.splice(0)) callback();
}
