import type { OrderDirection, RunOrderField, RunOrder } from "./generated/graphql.ts";

/** Whether smaller values of a metric are better. A guess by its name: the service does not tell. */
const isSmallerBetter = (metric: string) => /loss|err|mse|mae|perplexity|latency/i.test(metric);

/** Orders that are not by a metric, as the address has them. */
export const DATES: Readonly<Record<string, string>> = {
  CREATED_ASC: "Oldest first",
  UPDATED_DESC: "Last changed first",
  UPDATED_ASC: "First changed first",
  STARTED_DESC: "Last started first",
  STARTED_ASC: "First started first",
  FINISHED_DESC: "Last finished first",
  FINISHED_ASC: "First finished first",
};

/** The metric that an order of the address is by, and whether its worst value comes first. */
export const metricIn = (sort: string | undefined) => {
  const [, name, worst] = /^(.+?)(:worst)?$/.exec(sort ?? "") ?? [];
  return name === undefined || name in DATES ? null : { name, isWorst: worst !== undefined };
};

/** The order of a list: by a metric, the best or the worst first, by a date, or the newest first. */
export function orderOf(sort: string | undefined): RunOrder {
  const metric = metricIn(sort);
  if (metric) {
    const { name, isWorst } = metric;
    return { metric: name, direction: isSmallerBetter(name) !== isWorst ? "ASC" : "DESC" };
  }
  const [field = "CREATED", direction = "DESC"] = sort?.split("_") ?? [];
  return { field: `${field}_AT` as RunOrderField, direction: direction as OrderDirection };
}

/** How a column is sorted, as `aria-sort` says it. */
export const directionOf = ({ direction }: RunOrder) => (direction === "ASC" ? "ascending" : "descending");

/** What the footer says of an order. */
export function orderInWords(order: RunOrder): string {
  const { metric, direction, field } = order;
  const date = DATES[`${field?.replace("_AT", "")}_${direction}`];
  if (!metric) return date ? `${date}. ` : "";
  const isBest = isSmallerBetter(metric) === (direction === "ASC");
  return `Sorted by ${metric}, ${isBest ? "best" : "worst"} first. `;
}

/** What an order leaves out: downwards, the service would put runs without the metric first. */
export const leftOutOf = ({ metric, direction }: RunOrder) =>
  metric && direction === "DESC" ? ` Runs without ${metric} are left out.` : "";
