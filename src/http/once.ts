/** Loads something at its first use, and again after that has failed. */
export function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | null = null;
  const reset = (error: unknown): never => {
    loaded = null;
    throw error;
  };
  return () => (loaded ??= load().catch(reset));
}

/** A function that is loaded at its first call. */
export function lazily<Given extends unknown[], Answer>(
  load: () => Promise<(...given: Given) => PromiseLike<Answer> | Answer>,
): (...given: Given) => Promise<Answer> {
  const loaded = once(load);
  return async (...given) => (await loaded())(...given);
}
