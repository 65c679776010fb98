import type { Extension } from "../../graphql/types/exports.ts";
import { nextTurn } from "../../engine/turns.ts";
import { type Cell, csvLine } from "./csv.ts";

/** The names of the columns of a file, all of which are known when it begins. */
type Columns = readonly string[];

/** Bytes of a file, or text in UTF-8. */
export type Piece = string | Uint8Array;

/** Some rows of a file. Those of several parts may be added side by side. */
export interface Part {
  /** Adds a row, with its cells in the order of the columns. */
  readonly add: (cells: readonly Cell[]) => void;
  /** Its rows as the file has them, behind what the file begins with. Once for each part, in their order. */
  readonly take: () => Iterable<Piece>;
}

/** The rows of a part as the file has them. Each piece is made in a turn of its own. */
export async function* piecesOf(part: Part): AsyncGenerator<Piece, void> {
  for (const piece of part.take()) {
    yield piece;
    await nextTurn();
  }
}

/** Cells that are written without a pause: some 10 milliseconds. */
const CELLS = 50_000;

/** How many rows with so many columns are written without a pause, at most so many. */
export const rowsAtOnce = (most: number, columns: number): number =>
  Math.max(1, Math.min(most, Math.floor(CELLS / Math.max(1, columns))));

/** A file that is written. */
export interface Writer {
  readonly part: () => Part;
  /** What the file ends with, which is all of it where there was no part. */
  readonly end: () => Piece;
}

export interface Format {
  readonly contentType: string;
  readonly open: (columns: Columns) => Writer | Promise<Writer>;
}

/** The formats by their file name extensions. */
export const FORMATS = {
  csv: {
    contentType: "text/csv; charset=utf-8; header=present",
    open: (columns) => textWriter(csvLine(columns), csvLine),
  },
  ndjson: {
    contentType: "application/x-ndjson",
    open: (columns) =>
      textWriter("", (cells) => {
        const row = Object.fromEntries(columns.map((name, index) => [name, cells[index]]));
        return `${JSON.stringify(row)}\n`;
      }),
  },
  arrow: {
    contentType: "application/vnd.apache.arrow.stream",
    // 150 kB of code that only this format needs.
    open: async (columns) => (await import("./arrow.ts")).arrowWriter(columns),
  },
} satisfies Record<Extension, Format>;

/** Length of a text that is sent at once. */
const PIECE_LENGTH = 500_000;

function textWriter(head: string, lineOf: (cells: readonly Cell[]) => string): Writer {
  let before = head;
  const behindHead = (text: string): string => {
    const whole = before + text;
    before = "";
    return whole;
  };
  return {
    part: () => {
      const texts: string[] = [];
      let text = "";
      return {
        add: (cells) => {
          text += lineOf(cells);
          if (text.length < PIECE_LENGTH) return;
          texts.push(text);
          text = "";
        },
        *take() {
          for (const piece of [...texts.splice(0), text]) yield behindHead(piece);
        },
      };
    },
    end: () => behindHead(""),
  };
}
