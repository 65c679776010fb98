import type { Context } from "../../graphql/core/context.ts";
import type { Cell } from "./csv.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { readRunPage } from "./run-pages.ts";
import { eachInTurn, type Table, type TableRequest, writeRows } from "./table.ts";

/** Most runs that are loaded together, and their share of the upstream requests that a part may send. */
const LOADED = { most: 100, share: 1 / 2 };

/** A table with a row for each run. */
export async function openRuns({ source, parameters, format, inPart }: TableRequest): Promise<Table> {
  const { args, columns: chosen } = parameters;
  const given = chosen && new RunColumns(chosen);

  const readPage = (after: string | null) =>
    inPart(async (context) => ({
      ...(await readRunPage(source, args, after, context)),
      // A run of which the list does not tell all may cost a request.
      most: Math.min(LOADED.most, Math.ceil(context.gateway.maxUpstreamRequests * LOADED.share)),
    }));
  const first = await readPage(null);
  const columns = given ?? RunColumns.of(first.runs, { isWhole: first.next === null });

  const piecesOf = async ({ runs, most }: typeof first): Promise<readonly string[]> => {
    const pieces: string[] = [];
    for (let from = 0; from < runs.length; from += most)
      await inPart(async (context) => {
        const loaded = await columns.load(runs.slice(from, from + most), context);
        const rows = rowsOf(loaded, columns, context);
        pieces.push(...(await context.inTurns(writeRows(rows, columns.names, format))));
      });
    return pieces;
  };
  // Before the response begins: what fails until then has a status.
  const begin = await piecesOf(first);

  async function* pages(): Table["pieces"] {
    for (let page = first, pieces = begin; ; pieces = await piecesOf(page)) {
      yield* eachInTurn(pieces);
      if (page.next === null) break;
      page = await readPage(page.next);
    }
  }
  return { columns: columns.names, total: first.count, pieces: pages() };
}

function* rowsOf(
  runs: readonly ExportedRun[],
  columns: RunColumns,
  context: Context,
): Generator<readonly Cell[]> {
  for (const run of runs) yield columns.cellsOf(run, context);
}
