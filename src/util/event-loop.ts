let lastTick: Promise<void> = Promise.resolve();

/** Resolves in a later tick of the event loop. Concurrent calls resolve in separate ticks. */
export const yieldToEventLoop = (): Promise<void> =>
  (lastTick = lastTick.then(() => new Promise((resolve) => void setImmediate(resolve))));

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
