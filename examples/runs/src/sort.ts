import type { RunOrdering } from "./generated/graphql.ts";

/** Whether smaller values of a metric are better. A guess by its name: the service does not tell. */
const isSmallerBetter = (metric: string) => /loss|err|mse|mae|perplexity|latency/i.test(metric);

/** The order of a list: by a metric, the best first, or the newest first. */
export const orderOf = (metric: string | undefined): RunOrdering =>
  metric
    ? { metric, direction: isSmallerBetter(metric) ? "ASC" : "DESC" }
    : { field: "CREATED", direction: "DESC" };

/** Where the best values stand once a column is sorted, as `aria-sort` says it. */
export const directionOf = (metric: string) => (isSmallerBetter(metric) ? "ascending" : "descending");

/** What an order leaves out: downwards, the service would put runs without the metric first. */
export const leftOutOf = (metric: string) =>
  isSmallerBetter(metric) ? "" : ` Runs without ${metric} are left out.`;
