import { type Address, hrefOf } from "./address.ts";
import { metricIn } from "./sort.ts";

/** Sorts by a metric: the best first, then the worst first, then by creation again. */
export function SortBy({ metric, address }: { metric: string; address: Address }) {
  const sorted = metricIn(address.sort);
  const [sort, title] =
    sorted?.name !== metric
      ? [metric, `Best ${metric} first`]
      : sorted.isWorst
        ? [undefined, "Newest first"]
        : [`${metric}:worst`, `Worst ${metric} first`];
  return (
    <a className="sort" href={hrefOf({ ...address, sort })} title={title}>
      {metric}
    </a>
  );
}
