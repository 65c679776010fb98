let lastTick: Promise<void> = Promise.resolve();

/** Resolves in a later tick of the event loop. Of several waiting callers, each continues in a tick of its own. */
export const yieldToEventLoop = (): Promise<void> =>
  (lastTick = lastTick.then(() => new Promise((resolve) => void setImmediate(resolve))));
