import type { Extension } from "../../graphql/types/exports.ts";
import { type Cell, csvLine } from "./csv.ts";

/** The names of the columns of a file, all of which are known when it begins. */
type Columns = readonly string[];

/** How the rows of a table are written. */
export interface Format {
  readonly contentType: string;
  /** What the file begins with. */
  readonly head: (columns: Columns) => string;
  /** A row, with its cells in the order of the columns. */
  readonly row: (columns: Columns, cells: readonly Cell[]) => string;
}

/** The formats by their file name extensions. */
export const FORMATS = {
  csv: {
    contentType: "text/csv; charset=utf-8; header=present",
    head: csvLine,
    row: (_, cells) => csvLine(cells),
  },
  ndjson: {
    contentType: "application/x-ndjson",
    head: () => "",
    row: (columns, cells) =>
      `${JSON.stringify(Object.fromEntries(columns.map((name, index) => [name, cells[index]])))}\n`,
  },
} satisfies Record<Extension, Format>;
