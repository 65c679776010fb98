let lastTick: Promise<void> = Promise.resolve();

/** Resolves in a later tick of the event loop. Concurrent calls resolve in separate ticks. */
export const yieldToEventLoop = (): Promise<void> =>
  (lastTick = lastTick.then(() => new Promise((resolve) => void setImmediate(resolve))));
