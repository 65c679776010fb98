let lastTick: Promise<void> = Promise.resolve();

/** Resolves in a later tick of the event loop. Concurrent calls resolve in separate ticks. */
export const yieldToEventLoop = (): Promise<void> =>
  (lastTick = lastTick.then(() => new Promise((resolve) => void setImmediate(resolve))));

/** Duration of work that may share a tick, in milliseconds. Work that belongs to no operation yields to the event loop after this time. */
export const SHARED_TICK_MS = 3;

const waiting: (() => void)[] = [];

function runWaiting(): void {
  const until = performance.now() + SHARED_TICK_MS;
  do waiting.shift()?.();
  while (waiting.length > 0 && performance.now() < until);
  if (waiting.length > 0) setImmediate(runWaiting);
}

/** Does work in a later tick of the event loop. Short work shares a tick: 1,000 ticks in a row would delay other tasks for seconds. */
export const inLaterTick = <Result>(work: () => Result): Promise<Result> =>
  new Promise((resolve, reject) => {
    const run = (): void => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    };
    if (waiting.push(run) === 1) setImmediate(runWaiting);
  });

/** Maximum duration of an iteration of the event loop in which hardly any bytes or connections arrive, in milliseconds. */
const SHORT_ITERATION_MS = 1;

const polled = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Waits for the end of an iteration of the event loop that was short, and in which `isQuiet` returns true. At the end of a long iteration,
 * more may have arrived since the sockets were read. Waits at most `maxMs` milliseconds.
 */
export async function shortIteration(maxMs: number, isQuiet = () => true): Promise<void> {
  // The first call resolves without a poll when it follows an event of a socket or a signal in the same iteration.
  await polled();
  for (const until = performance.now() + maxMs; performance.now() < until;) {
    const began = performance.now();
    await polled();
    if (isQuiet() && performance.now() - began < SHORT_ITERATION_MS) return;
  }
}
