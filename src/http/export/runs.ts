import type { Context } from "../../graphql/core/context.ts";
import type { Cell } from "./csv.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { readRunPage } from "./run-pages.ts";
import { inPart, type Table, type TableRequest, written } from "./table.ts";

/** Most runs that are loaded together, and their share of the upstream requests that a part may send. */
const LOADED = { most: 100, share: 1 / 2 };

/** A table with a row for each run. */
export async function openRuns(request: TableRequest): Promise<Table> {
  const { source, parameters, format } = request;
  const { args, columns: chosen } = parameters;
  const given = chosen && new RunColumns(chosen);

  const readPage = (after: string | null) =>
    inPart(request, (context) => readRunPage(source, args, after, context));
  const first = await readPage(null);
  const columns = given ?? RunColumns.of(first.runs, { isWhole: first.next === null });

  /** The rows of runs, which are loaded first: a run of which the list does not tell all may cost a request. */
  async function* rowsOf(runs: readonly ExportedRun[]): Table["pieces"] {
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

  async function* pieces(): Table["pieces"] {
    for (let page = first; ; page = await readPage(page.next)) {
      yield* rowsOf(page.runs);
      if (page.next === null) break;
    }
  }
  return { columns: columns.names, total: first.count, pieces: pieces() };
}

function* cellsOf(
  runs: readonly ExportedRun[],
  columns: RunColumns,
  context: Context,
): Generator<readonly Cell[], undefined> {
  for (const run of runs) yield columns.cellsOf(run, context);
}
