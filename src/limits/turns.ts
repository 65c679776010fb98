/*
 * Time slices. Work that could hold the event loop for long asks here whether its slice is over, and waits for the next
 * one if so: between two slices the loop serves sockets, timers and probes. One clock for the whole process: what
 * counts is how long the loop was held, by however many requests.
 *
 * Own code: packages that yield (p-event-loop and the like) yield on every call, or know nothing of fairness.
 */

/** How long the event loop may be held before other work gets its turn, in milliseconds. */
const SLICE_MS = 5;

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
  /** Gives the value in a later slice. */
  readonly wait: <Value>(value: Value) => Promise<Value>;
  /** Forgets what waits: its promises never settle. */
  readonly clear: () => void;
}

interface Waiting {
  readonly release: () => void;
  next: Waiting | null;
}

/** Lines in which somebody waits. They take turns, one release each: a long line does not hold up the others. */
const lines = new Set<{ first: Waiting | null }>();
let serving = false;

export function openLine(): Line {
  const line: { first: Waiting | null } = { first: null };
  let last: Waiting | null = null;
  return {
    wait: (value) =>
      new Promise((resolve) => {
        const waiting: Waiting = { release: () => resolve(value), next: null };
        if (line.first && last) last.next = waiting;
        else line.first = waiting;
        last = waiting;
        lines.add(line);
        if (!serving) void serve();
      }),
    clear: () => {
      line.first = null;
      lines.delete(line);
    },
  };
}

async function serve(): Promise<void> {
  serving = true;
  while (lines.size > 0) {
    await nextTurn();
    await serveSlice();
  }
  serving = false;
}

async function serveSlice(): Promise<void> {
  while (!isSliceOver()) {
    const [line] = lines;
    if (!line) return;
    lines.delete(line);
    const { first } = line;
    if (!first) continue;
    line.first = first.next;
    if (line.first) lines.add(line);
    first.release();
    // What was released runs as a microtask, before this goes on.
    await undefined;
  }
}
