import { type Contestants, OF_KEPT_LISTS, OF_LISTS, OF_RECORDS } from "./contestants.ts";
import { type Operation, OPERATIONS, PAGE, POSTS, TABLE } from "./operations.ts";

/** Contestants that serve the same operations in front of one service. */
export interface Comparison {
  readonly title: string;
  readonly contestants: Contestants;
  readonly operations: readonly Operation[];
  /** The operation whose latency is measured with a single caller. */
  readonly waited: Operation;
  /** Lifetime of cached responses that the service allows, in seconds. Undefined: the service allows no caching. */
  readonly cacheSeconds?: number;
}

export const COMPARISONS: readonly Comparison[] = [
  { title: "", contestants: OF_RECORDS, operations: OPERATIONS, waited: PAGE },
  { title: ", a table of runs", contestants: OF_LISTS, operations: [TABLE], waited: TABLE },
  {
    title: ", 100 runs of 10 builds, kept",
    contestants: OF_KEPT_LISTS,
    operations: [POSTS],
    waited: POSTS,
    cacheSeconds: 60,
  },
];
