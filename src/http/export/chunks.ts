import type { Context } from "../../graphql/core/context.ts";
import type { CooperativeTask } from "../../util/cooperative-task.ts";
import type { Format } from "./formats.ts";
import type { ExportedRun, NamedColumn } from "./run-columns.ts";

/** A row of a table: a run and, if the run has several rows, the detail that this row shows. */
export interface ExportRow {
  readonly run: ExportedRun;
  readonly detail: unknown;
  /** When the row was read, by the clock of the upstream service, in milliseconds since 1970. */
  readonly now: number;
}

/** Maximum characters of a chunk. Sending a chunk takes a few milliseconds. */
const CHUNK_LENGTH = 500_000;

/** Maximum characters of a row whose cells are formatted without a pause. */
const LONG_ROW_LENGTH = 20_000;

/**
 * Returns a function that formats the rows of the next chunk of the file, in steps. After the last row, the function returns an empty
 * string. Cells that are equal in all rows of a run are formatted once for consecutive rows of the run. The memory of a chunk is charged
 * until the next chunk is formatted, that is, until the chunk has been sent.
 */
export function openChunks(
  rows: Iterator<ExportRow, undefined>,
  columns: readonly NamedColumn[],
  format: Format,
  context: Context,
): () => Promise<string> {
  const hasDetails = columns.some(({ isOfRun }) => !isOfRun);
  let last: Pick<ExportRow, "run" | "now"> | null = null;
  let cells: string[] = [];
  let charged = 0;

  function* lineOf({ run, detail, now }: ExportRow): CooperativeTask<string> {
    const isSameRun = hasDetails && last?.run === run && last.now === now;
    if (!isSameRun) [last, cells] = [{ run, now }, []];
    let written = 0;
    for (const [index, column] of columns.entries()) {
      const known = isSameRun && column.isOfRun ? cells[index] : undefined;
      const cell = known ?? (yield* cellOf(column, { run, detail, now }, format));
      cells[index] = cell;
      written += cell.length;
      if (written < LONG_ROW_LENGTH) continue;
      charged += written;
      yield written;
      written = 0;
    }
    return format.lineOf(cells);
  }

  function* nextChunk(): CooperativeTask<string> {
    const kept = hasDetails ? cells.reduce((length, cell) => length + cell.length, 0) : 0;
    yield kept - charged;
    charged = kept;
    let chunk = "";
    for (let row = rows.next(); !row.done; row = rows.next()) {
      chunk += yield* lineOf(row.value);
      if (chunk.length >= CHUNK_LENGTH) break;
      yield;
    }
    if (!hasDetails) cells = [];
    return chunk;
  }
  return () => context.runCooperatively(nextChunk());
}

function* cellOf(
  column: NamedColumn,
  { run, detail, now }: ExportRow,
  format: Format,
): CooperativeTask<string> {
  const json = column.jsonOf ? yield* column.jsonOf(run) : null;
  const formatted =
    json === null
      ? format.cellOf(column.cellOf(run, detail, now), column.name)
      : format.jsonOf(json, column.name);
  return typeof formatted === "string" ? formatted : yield* formatted;
}
