let lastTick: Promise<void> = Promise.resolve();

/** Resolves in a later tick of the event loop. Each of several waiting callers continues in a tick of its own. */
export const yieldToEventLoop = (): Promise<void> =>
  (lastTick = lastTick.then(() => new Promise((resolve) => void setImmediate(resolve))));
