import type { Context } from "../../graphql/core/context.ts";
import type { Format, Piece } from "./formats.ts";
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

/** How many rows have about so many cells: at least one. */
export const rowsWith = (cells: number, columns: readonly string[]): number =>
  Math.max(1, Math.floor(cells / columns.length));

/** A table under way. */
export interface Table {
  /** Number of runs that it tells of; null when unknown. */
  readonly total: number | null;
  /** The file in pieces, the first of which has the first rows. Each is made when it is read. */
  readonly pieces: AsyncGenerator<Piece, undefined>;
}
