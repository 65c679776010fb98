import { type Context, forEach, type Steps } from "../core/context.ts";
import { entriesOf } from "../../rest/api/record.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";

/** What the list of a service contains of an experiment. */
export type Row = Partial<ExperimentRecord>;

/** The keys of parameters and of metrics. */
export type ColumnKey = "declarations" | "last_metric";

/** The values that rows have under a name. */
export interface Column {
  readonly name: string;
  readonly values: readonly unknown[];
  /** The indexes of their rows. */
  readonly rows: readonly number[];
}

/** Memory of a column, and of each of its values, counted as bytes of JSON. */
const BYTES = { column: 250, value: 14 };

/** The columns of some rows, in order of their names: one reading of the rows for all figures that need them. */
export const columnsOf = (
  rows: readonly Row[],
  key: ColumnKey,
  context: Pick<Context, "once">,
): Promise<readonly Column[]> => context.once(rows, ["columns", key], () => makeColumns(rows, key));

/** Takes as long as there are values, however many names they have. */
function* makeColumns(rows: readonly Row[], key: ColumnKey): Steps<readonly Column[]> {
  const columns = new Map<string, { name: string; values: unknown[]; rows: number[] }>();
  for (const [index, row] of rows.entries())
    yield* forEach(entriesOf(row[key]), ([name, value]) => {
      const column = columns.get(name) ?? { name, values: [], rows: [] };
      // Two ways through objects can have the same name.
      if (column.rows.at(-1) === index) return 0;
      column.rows.push(index);
      if (column.values.push(value ?? null) > 1) return BYTES.value;
      columns.set(name, column);
      return BYTES.value + BYTES.column + name.length;
    });
  return [...columns.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
