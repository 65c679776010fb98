import { type Contestants, OF_KEPT_LISTS, OF_LISTS, OF_RECORDS } from "./contestants.ts";
import { type Operation, OPERATIONS, PAGE, POSTS, TABLE } from "./operations.ts";

/** Contestants that are asked the same operations in front of one service. */
export interface Comparison {
  readonly title: string;
  readonly contestants: Contestants;
  readonly operations: readonly Operation[];
  /** The operation that a single caller waits for. */
  readonly waited: Operation;
  /** For how many seconds the service lets responses be kept. */
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
