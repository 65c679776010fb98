/** Loads something at its first use, and again after that has failed. */
export function lazy<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | null = null;
  const reset = (error: unknown): never => {
    loaded = null;
    throw error;
  };
  return () => (loaded ??= load().catch(reset));
}
