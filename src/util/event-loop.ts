let lastTick: Promise<void> = Promise.resolve();

/** Resolves in a later tick of the event loop. If several callers wait, each continues in a separate tick. */
export const yieldToEventLoop = (): Promise<void> =>
  (lastTick = lastTick.then(() => new Promise((resolve) => void setImmediate(resolve))));
