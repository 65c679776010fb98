import type { OrderDirection, RunOrderField, RunOrder } from "./generated/graphql.ts";

/** Whether smaller values of a metric are better. Guessed from its name: the service does not report it. */
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

/** An order of this page that the service does not support: `parameter.lr`, `run.duration`, `smallest.loss`, descending by `:desc`. */
export interface OwnOrder {
  readonly of: "parameter" | "run" | "smallest" | "largest";
  readonly name: string;
  readonly isDescending: boolean;
}

export function ownOrderIn(sort: string | undefined): OwnOrder | null {
  const [, of, name = "", desc] = /^(parameter|run|smallest|largest)\.(.+?)(:desc)?$/.exec(sort ?? "") ?? [];
  return of === undefined ? null : { of: of as OwnOrder["of"], name, isDescending: desc !== undefined };
}

/** An order of this page itself in words. */
export function wordsOf(sort: string): string {
  const own = ownOrderIn(sort);
  if (!own) return sort;
  const of = own.of === "smallest" || own.of === "largest" ? `${own.of} ` : "";
  return `By ${of}${own.name}, ${own.isDescending ? "descending" : "ascending"}`;
}

/** Sorts by a value of each run: numbers by size, all else as text, runs without a value last. */
export function sortedBy<Run>(
  runs: readonly Run[],
  valueOf: (run: Run) => unknown,
  isDescending: boolean,
): Run[] {
  const rated = runs.map((run) => ({ run, value: valueOf(run) ?? null }));
  return rated
    .toSorted(({ value: one }, { value: other }) => {
      if (one === null || other === null) return Number(one === null) - Number(other === null);
      const compared =
        typeof one === "number" && typeof other === "number"
          ? one - other
          : String(one).localeCompare(String(other), "en", { numeric: true });
      return isDescending ? -compared : compared;
    })
    .map(({ run }) => run);
}

/** The metric in an order of the address, and whether its worst value comes first. */
export const metricIn = (sort: string | undefined) => {
  if (ownOrderIn(sort)) return null;
  const [, name, worst] = /^(.+?)(:worst)?$/.exec(sort ?? "") ?? [];
  return name === undefined || name in DATES ? null : { name, isWorst: worst !== undefined };
};

/** The order of a list: by a metric, the best or the worst first, by a date, or the newest first. */
export function orderOf(sort: string | undefined): RunOrder {
  if (ownOrderIn(sort)) return { by: { field: "CREATED_AT" }, direction: "DESC" };
  const metric = metricIn(sort);
  if (metric) {
    const { name, isWorst } = metric;
    return { by: { metric: name }, direction: isSmallerBetter(name) !== isWorst ? "ASC" : "DESC" };
  }
  const [field = "CREATED", direction = "DESC"] = sort?.split("_") ?? [];
  return { by: { field: `${field}_AT` as RunOrderField }, direction: direction as OrderDirection };
}

/** Name of the best value of a metric. */
export const bestOf = (metric: string) => (isSmallerBetter(metric) ? "smallest" : "largest");

/** The direction of a sorted column, as a value of `aria-sort`. */
export const directionOf = ({ direction }: Pick<RunOrder, "direction">): "ascending" | "descending" =>
  direction === "ASC" ? "ascending" : "descending";

/** An order in words, for the footer. */
export function orderInWords(order: RunOrder): string {
  const {
    by: { field, metric },
    direction,
  } = order;
  const date = DATES[`${field?.replace("_AT", "")}_${direction}`];
  if (!metric) return date ? `${date}. ` : "";
  const isBest = isSmallerBetter(metric) === (direction === "ASC");
  return `Sorted by ${metric}, ${isBest ? "best" : "worst"} first. `;
}

/** Says which runs an order leaves out. */
export const leftOutOf = ({ by: { metric } }: RunOrder) =>
  metric ? ` Runs without ${metric} are left out.` : "";
