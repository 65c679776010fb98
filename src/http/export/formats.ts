import type { CooperativeTask } from "../../util/cooperative-task.ts";
import type { Extension } from "../../graphql/types/export-urls.ts";

/** A value of a table: null if there is none; a list or an object as JSON. */
export type Cell = unknown;

/** Matches the signs by which spreadsheets recognize a formula, including full-width signs. */
const EXECUTED = /^[=+\-@\t\r\n＝＋－＠]/;
/**
 * Matches these signs after a separator other than the comma. Some spreadsheets split cells there, and take quotation marks inside a cell
 * as text.
 */
const EXECUTED_BEHIND = /([;\t\r\n]["' ]*)([=+\-@＝＋－＠][^;\t\r\n]*)/g;
const CSV_NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Formats a cell by RFC 4180. A string that a spreadsheet would execute is preceded by an apostrophe, unless it is a number. Null becomes
 * an empty cell, and an empty string becomes two quotation marks.
 */
function csvCell(cell: Cell): string | CooperativeTask<string> {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number" || typeof cell === "boolean") return `${cell}`;
  const text = typeof cell === "string" ? cell : JSON.stringify(cell);
  return text.length > LONG_CELL_LENGTH ? longCell(text) : shortCell(text);
}

const shortCell = (text: string): string => quoted(`${signBefore(text)}${harmless(text)}`);

/** The apostrophe before a string that a spreadsheet would execute; otherwise an empty string. */
const signBefore = (text: string): string => (EXECUTED.test(text) && !CSV_NUMBER.test(text) ? "'" : "");

const harmless = (text: string): string =>
  text.replaceAll(EXECUTED_BEHIND, (found, before: string, behind: string) =>
    CSV_NUMBER.test(behind) ? found : `${before}'${behind}`,
  );

const QUOTED = /[",\r\n]/;
/** Doubles quotation marks. `replaceAll` would allocate a string of 32 bytes for each match, which V8 keeps until the result is read. */
const doubled = (text: string): string => text.split('"').join('""');
const quoted = (text: string): string => (text === "" || QUOTED.test(text) ? `"${doubled(text)}"` : text);

/** Maximum characters of a string that are formatted without a pause. */
const LONG_CELL_LENGTH = 20_000;
const SEPARATOR = /[;\t\r\n]/g;

/**
 * Formats a long string in steps. A step ends before a separator, because a formula may begin after it. Charges twice the length of the
 * string.
 */
function* longCell(text: string): CooperativeTask<string> {
  yield 2 * text.length;
  const isQuoted = QUOTED.test(text);
  let cell = signBefore(text);
  for (let from = 0; from < text.length;) {
    SEPARATOR.lastIndex = from + LONG_CELL_LENGTH;
    const end = SEPARATOR.exec(text)?.index ?? text.length;
    const segment = harmless(text.slice(from, end));
    from = end;
    // Without a separator nearby, the segment is longer than a step.
    for (let at = 0; at < segment.length; at += LONG_CELL_LENGTH) {
      const slice = segment.slice(at, at + LONG_CELL_LENGTH);
      cell += isQuoted ? doubled(slice) : slice;
      yield;
    }
  }
  yield -2 * text.length;
  return isQuoted ? `"${cell}"` : cell;
}

/** A line of CSV. The line of a single empty cell has two quotation marks, because many readers skip blank lines. */
const csvLine = (cells: readonly string[]): string => `${cells.join(",") || '""'}\r\n`;

export interface Format {
  readonly contentType: string;
  /** The beginning of a file, from the names of its columns. */
  readonly head: (columns: readonly string[]) => string;
  /** Formats a cell of the named column; a long cell in steps. */
  readonly cellOf: (cell: Cell, column: string) => string | CooperativeTask<string>;
  /** Formats a cell that is given as JSON. */
  readonly jsonOf: (json: string, column: string) => string | CooperativeTask<string>;
  /** Formats a row, with its cells in the order of the columns. */
  readonly lineOf: (cells: readonly string[]) => string;
}

export const FORMATS = {
  csv: {
    contentType: "text/csv; charset=utf-8; header=present",
    head: (columns) => csvLine(columns.map(shortCell)),
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
