import { nextTurn } from "../../engine/turns.ts";
import type { Context } from "../../graphql/core/context.ts";
import type { Cell } from "./csv.ts";
import type { Format } from "./formats.ts";
import type { ExportParameters } from "./parameters.ts";
import type { Source } from "./run-pages.ts";

/** Does a part of an export in a context of its own: what it has read is let go when it ends. */
export type InPart = <Result>(work: (context: Context) => Promise<Result>) => Promise<Result>;

/** What a table is made from. */
export interface TableRequest {
  readonly source: Source;
  readonly parameters: ExportParameters;
  readonly format: Format;
  readonly inPart: InPart;
}

/** A table under way. */
export interface Table {
  readonly columns: readonly string[];
  /** Number of runs that it tells of; null when unknown. */
  readonly total: number | null;
  /** Its rows as text, some at a time. Each piece is made when it is read. */
  readonly pieces: AsyncGenerator<string, undefined>;
}

/** Cells that are made without a pause. */
const STRIDE = 1_200;

/** Cells of a piece, which takes a few milliseconds to send. */
const PIECE = 25_000;

/** Writes rows into pieces of a file, with pauses. */
export function* writeRows(
  rows: Iterable<readonly Cell[]>,
  columns: readonly string[],
  { lineOf }: Format,
): Generator<undefined, readonly string[]> {
  const pieces: string[] = [];
  let piece = "";
  let written = 0;
  for (const cells of rows) {
    const before = written;
    written += cells.length;
    const reaches = (size: number) => Math.floor(written / size) > Math.floor(before / size);
    piece += lineOf(cells, columns);
    if (reaches(PIECE)) {
      pieces.push(piece);
      piece = "";
    }
    if (reaches(STRIDE)) yield;
  }
  if (piece !== "") pieces.push(piece);
  return pieces;
}

/** Hands over what is written, so that others have their turns between two pieces. */
export async function* eachInTurn(pieces: readonly string[]): AsyncGenerator<string, undefined> {
  for (const piece of pieces) {
    yield piece;
    await nextTurn();
  }
}
