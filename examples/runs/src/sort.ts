/** Whether smaller values of a metric are better. A guess by its name: the service does not tell. */
const isSmallerBetter = (metric: string) => /loss|err|mse|mae|perplexity|latency/i.test(metric);

/** Compares two values of a metric: negative if the first is better. A missing value is worse than any other. */
export function compareBy(metric: string) {
  const sign = isSmallerBetter(metric) ? 1 : -1;
  return (a: number | null, b: number | null) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (a - b);
  };
}

/** Where the best values stand once a column is sorted, as `aria-sort` says it. */
export const directionOf = (metric: string) => (isSmallerBetter(metric) ? "ascending" : "descending");
