/** Returns a function that loads a value on the first call, and again after a failure. */
export function lazy<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | null = null;
  const reset = (error: unknown): never => {
    loaded = null;
    throw error;
  };
  return () => (loaded ??= load().catch(reset));
}
