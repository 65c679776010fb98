import type { Extension } from "../../graphql/types/exports.ts";
import { type Cell, csvLine } from "./csv.ts";

/** The names of the columns of a file, all of which are known when it begins. */
type Columns = readonly string[];

export interface Format {
  readonly contentType: string;
  /** What a file begins with. */
  readonly head: (columns: Columns) => string;
  /** Formats a row, with its cells in the order of the columns. */
  readonly lineOf: (cells: readonly Cell[], columns: Columns) => string;
}

/** The formats by their file name extensions. */
export const FORMATS = {
  csv: {
    contentType: "text/csv; charset=utf-8; header=present",
    head: csvLine,
    lineOf: csvLine,
  },
  ndjson: {
    contentType: "application/x-ndjson",
    head: () => "",
    lineOf: (cells, columns) =>
      `${JSON.stringify(Object.fromEntries(columns.map((name, index) => [name, cells[index]])))}\n`,
  },
} satisfies Record<Extension, Format>;
