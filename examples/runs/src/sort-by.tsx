import { type Address, hrefOf } from "./address.ts";
import { metricIn, ownOrderIn } from "./sort.ts";

interface SortByProps {
  /** The column: a metric, by which the service sorts, or what this page sorts by. */
  readonly by: string;
  readonly label: string;
  readonly address: Address;
}

/** Sorts by a column: in one direction, then in the other, then by creation again. A metric begins with its best. */
export function SortBy({ by, label, address }: SortByProps) {
  const [first, second] = ownOrderIn(by)
    ? [
        { sort: by, title: `${label}, ascending` },
        { sort: `${by}:desc`, title: `${label}, descending` },
      ]
    : [
        { sort: metricIn(by)?.name, title: `Best ${label} first` },
        { sort: `${by}:worst`, title: `Worst ${label} first` },
      ];
  const next = { [first.sort ?? ""]: second, [second.sort]: { sort: undefined, title: "Newest first" } };
  const { sort, title } = next[address.sort ?? ""] ?? first;
  return (
    <a className="sort" href={hrefOf({ ...address, sort })} title={title}>
      {label}
    </a>
  );
}
