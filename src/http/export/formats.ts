import type { Extension } from "../../graphql/types/export-urls.ts";

/** A value of a table: null when there is none; a list or an object as JSON. */
export type Cell = unknown;

/** What spreadsheets take for a formula, full-width signs included. */
const EXECUTED = /^[=+\-@\t\r\n＝＋－＠]/;
/** The same behind what separates cells where a comma does not: there quotation marks in the middle of a cell are text. */
const EXECUTED_BEHIND = /([;\t\r\n]["' ]*)([=+\-@＝＋－＠][^;\t\r\n]*)/g;
const CSV_NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Formats a cell by RFC 4180. A text that a spreadsheet would execute gets an apostrophe, unless it is a number. Null is
 * nothing, an empty text two quotation marks.
 */
function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number" || typeof cell === "boolean") return `${cell}`;
  const text = typeof cell === "string" ? cell : JSON.stringify(cell);
  const inside = text.replaceAll(EXECUTED_BEHIND, (found, before: string, behind: string) =>
    CSV_NUMBER.test(behind) ? found : `${before}'${behind}`,
  );
  const harmless = EXECUTED.test(text) && !CSV_NUMBER.test(text) ? `'${inside}` : inside;
  return harmless === "" || /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** A line of CSV. One of a single cell is never blank: many readers leave blank lines out. */
const csvLine = (cells: readonly string[]): string => `${cells.join(",") || '""'}\r\n`;

export interface Format {
  readonly contentType: string;
  /** The beginning of a file, by the names of its columns. */
  readonly head: (columns: readonly string[]) => string;
  /** Formats a cell of the column with this name. */
  readonly cellOf: (cell: Cell, column: string) => string;
  /** The same for a cell that is JSON already. */
  readonly jsonOf: (json: string, column: string) => string;
  /** Formats a row, with its cells in the order of the columns. */
  readonly lineOf: (cells: readonly string[]) => string;
}

export const FORMATS = {
  csv: {
    contentType: "text/csv; charset=utf-8; header=present",
    head: (columns) => csvLine(columns.map(csvCell)),
    cellOf: csvCell,
    jsonOf: csvCell,
    lineOf: csvLine,
  },
  ndjson: {
    contentType: "application/x-ndjson; charset=utf-8",
    head: () => "",
    cellOf: (cell, column) => `${JSON.stringify(column)}:${JSON.stringify(cell ?? null)}`,
    jsonOf: (json, column) => `${JSON.stringify(column)}:${json}`,
    lineOf: (cells) => `{${cells.join()}}\n`,
  },
} satisfies Record<Extension, Format>;
