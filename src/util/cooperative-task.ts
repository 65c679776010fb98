/**
 * A long computation that yields after each step, so that other tasks can run. It may yield the memory that the step has allocated for the
 * result, in charged bytes (`memory-budget.ts`).
 */
export type CooperativeTask<Result> = Generator<number | undefined, Result, undefined>;

/** `forEach` yields after this number of items, or after this number of charged bytes. */
const ITEM_STRIDE = 500;
const BYTES_PER_SLICE = 20_000;

/**
 * Calls `work` for each item, and yields from time to time. `work` returns the memory that it has allocated for the result, in charged
 * bytes.
 */
export function* forEach<Item>(
  items: Iterable<Item>,
  work: (item: Item, index: number) => number | undefined | void,
): CooperativeTask<void> {
  let [seen, bytes] = [0, 0];
  for (const item of items) {
    bytes += work(item, seen) ?? 0;
    if (++seen % ITEM_STRIDE > 0 && bytes < BYTES_PER_SLICE) continue;
    yield bytes;
    bytes = 0;
  }
  yield bytes;
}

/** Computes a result for each item. Omits null results. */
export function* makeEach<Item, Result>(
  items: Iterable<Item>,
  make: (item: Item) => CooperativeTask<Result | null>,
): CooperativeTask<Result[]> {
  const all: Result[] = [];
  for (const item of items) {
    const result = yield* make(item);
    if (result !== null) all.push(result);
  }
  return all;
}

export type ResultOf<Make> = Make extends (...args: never) => CooperativeTask<readonly (infer Result)[]>
  ? Result
  : never;
