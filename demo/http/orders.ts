import { spanOf } from "../statuses.ts";
import type { Experiment, Run } from "../store.ts";
import { lastMetric } from "./filters.ts";

/** Resolves a sort key to a run's value for it; undefined is an unknown key. */
export type SortKeys<R> = (name: string) => ((run: R) => number | null) | undefined;

const sortableTimes = new Map<string, (run: Run) => number | null>([
  ["created_at", (run) => run.createdAt],
  ["updated_at", (run) => run.updatedAt],
  ["started_at", (run) => spanOf(run.statuses).startedAt],
  ["finished_at", (run) => spanOf(run.statuses).finishedAt],
]);

export const runSortKeys: SortKeys<Run> = (name) => sortableTimes.get(name);

export const experimentSortKeys: SortKeys<Experiment> = (name) => {
  return name.startsWith("metric.")
    ? (run) => lastMetric(run, name.slice("metric.".length))
    : sortableTimes.get(name);
};

/** Matches the sorts that real servers read. They ignore others, such as the metric `train/loss`. */
const sortable = /^-?[.\p{L}\p{N}_-]+$/u;

/**
 * Compares by a sort such as `-finished_at,created_at`. Skips unknown keys; the latest change comes first by default. A missing value
 * counts as the largest, as in PostgreSQL: it comes last, and first in descending order.
 */
export function compareBy<R extends Run>(sort: string, keys: SortKeys<R>): (a: R, b: R) => number {
  const terms = [...sort.split(","), "-updated_at"].flatMap((term) => {
    const direction = term.startsWith("-") ? -1 : 1;
    const valueOf = sortable.test(term) ? keys(direction < 0 ? term.slice(1) : term) : undefined;
    return valueOf ? [{ direction, valueOf }] : [];
  });
  return (a, b) => {
    for (const { direction, valueOf } of terms) {
      const [left, right] = [valueOf(a) ?? Infinity, valueOf(b) ?? Infinity];
      if (left !== right) return left < right ? -direction : direction;
    }
    return (terms[0]?.direction ?? -1) * (a.id - b.id);
  };
}
