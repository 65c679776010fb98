import type { Context } from "../../graphql/core/context.ts";
import type { Cell } from "./formats.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { openTable, type Table, type TableRequest, written } from "./table.ts";

/** Most runs that are loaded together, and their share of the upstream requests that a part may send. */
const LOADED = { most: 100, share: 1 / 2 };

/** A table with a row for each run. */
export async function openRuns(request: TableRequest): Promise<Table> {
  const { parameters, format } = request;
  const given = parameters.columns && new RunColumns(parameters.columns);
  return openTable(request, (first) => {
    const columns = given ?? RunColumns.of(first.runs, { isWhole: first.next === null });

    /** The rows of runs, which are loaded first: a run of which the list does not tell all may cost a request. */
    async function* piecesOf(runs: readonly ExportedRun[]): Table["pieces"] {
      for (let from = 0, most = 0; from < runs.length; from += most) {
        const { context, end } = request.openPart();
        most = Math.min(LOADED.most, Math.ceil(context.gateway.maxUpstreamRequests * LOADED.share));
        try {
          const loaded = await columns.load(runs.slice(from, from + most), context);
          yield* written(cellsOf(loaded, columns, context), columns.names, format, context);
        } finally {
          end();
        }
      }
    }
    return { columns: columns.names, piecesOf };
  });
}

function* cellsOf(
  runs: readonly ExportedRun[],
  columns: RunColumns,
  context: Context,
): Generator<readonly Cell[], undefined> {
  for (const run of runs) yield columns.cellsOf(run, context);
}
