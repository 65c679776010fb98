import { lastMetric } from "./filters.ts";
import { type Experiment, type Run, span } from "./model.ts";

/** The value that a name of an order stands for; null sorts behind everything, undefined is no order. */
export type Order<R> = (name: string) => ((run: R) => number | null) | undefined;

const times = new Map<string, (run: Run) => number | null>([
  ["created_at", (run) => run.createdAt],
  ["updated_at", (run) => run.updatedAt],
  ["started_at", (run) => span(run.statuses).startedAt],
  ["finished_at", (run) => span(run.statuses).finishedAt],
]);

export const runOrder: Order<Run> = (name) => times.get(name);

export const experimentOrder: Order<Experiment> = (name) => {
  return name.startsWith("metric.")
    ? (run) => lastMetric(run, name.slice("metric.".length))
    : times.get(name);
};

/** Reads `-finished_at,created_at`. What is no order is passed over; the newest change comes first by default. */
export function comparison<R extends Run>(sort: string, order: Order<R>): (a: R, b: R) => number {
  const wanted = [...sort.split(","), "-updated_at"].flatMap((term) => {
    const direction = term.startsWith("-") ? -1 : 1;
    const valueOf = order(direction < 0 ? term.slice(1) : term);
    return valueOf ? [{ direction, valueOf }] : [];
  });
  return (a, b) => {
    for (const { direction, valueOf } of wanted) {
      const [left, right] = [valueOf(a) ?? Infinity, valueOf(b) ?? Infinity];
      if (left !== right) return left < right ? -direction : direction;
    }
    return (wanted[0]?.direction ?? -1) * (a.id - b.id);
  };
}
