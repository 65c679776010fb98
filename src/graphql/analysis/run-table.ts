import type { Steps } from "../core/context.ts";
import { once } from "../types/series.ts";
import { entriesOf } from "../../rest/api/record.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";

/** What the list of a service contains of an experiment. */
export type Row = Partial<ExperimentRecord>;

/** Rows, or their values, that are looked at without a pause. */
export const STRIDE = 500;

/** The values that rows have under a name. */
export interface Column {
  readonly name: string;
  readonly values: readonly unknown[];
  /** The indexes of their rows. */
  readonly rows: readonly number[];
}

/** Memory of a column, and of each of its values, counted as bytes of JSON. */
const BYTES = { column: 250, value: 14 };

/** The columns of some rows, in order of their names. Takes as long as there are values, however many names they have. */
function* columnsOf(rows: readonly Row[], key: "declarations" | "last_metric"): Steps<readonly Column[]> {
  const columns = new Map<string, { name: string; values: unknown[]; rows: number[] }>();
  let [seen, made] = [0, 0];
  for (const [index, row] of rows.entries())
    for (const [name, value] of entriesOf(row[key])) {
      if (++seen % STRIDE === 0) {
        yield made;
        made = 0;
      }
      const column = columns.get(name) ?? { name, values: [], rows: [] };
      // Two ways through objects can have the same name.
      if (column.rows.at(-1) === index) continue;
      if (column.values.push(value ?? null) === 1) {
        columns.set(name, column);
        made += BYTES.column + name.length;
      }
      column.rows.push(index);
      made += BYTES.value;
    }
  yield made;
  return [...columns.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Rows with the columns of their parameters and metrics, which all figures of a list make together. */
export class RunTable {
  readonly rows: readonly Row[];
  readonly parameters: () => Steps<readonly Column[]>;
  readonly metrics: () => Steps<readonly Column[]>;

  constructor(rows: readonly Row[]) {
    this.rows = rows;
    this.parameters = once(columnsOf(rows, "declarations"));
    this.metrics = once(columnsOf(rows, "last_metric"));
  }
}
