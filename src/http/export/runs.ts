import type { Context } from "../../graphql/core/context.ts";
import { type Part, piecesOf, rowsAtOnce } from "./formats.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { readRunPage } from "./run-pages.ts";
import type { InPart, Table, TableRequest } from "./table.ts";

/** Most runs that are loaded together, and their share of the upstream requests that a part may send. */
const LOADED = { most: 100, share: 1 / 2 };

/** Rows that are written without a pause. */
const STRIDE = 50;

/** A table with a row for each run. */
export async function openRuns({ source, parameters, format, inPart }: TableRequest): Promise<Table> {
  const { args, columns: chosen } = parameters;
  const given = chosen && new RunColumns(chosen);

  const readPage = (after: string | null) =>
    inPart(async (context) => ({
      ...(await readRunPage(source, args, after, context)),
      // A run that the list tells in part may cost a request.
      stride: Math.min(LOADED.most, Math.ceil(context.gateway.maxUpstreamRequests * LOADED.share)),
    }));
  const first = await readPage(null);
  const columns = given ?? RunColumns.of(first.runs, { isWhole: first.next === null });
  const writer = await format.open(columns.names);
  const written = async ({ runs, stride }: typeof first) => {
    const part = writer.part();
    for (let from = 0; from < runs.length; from += stride)
      await addRuns(part, runs.slice(from, from + stride), columns, inPart);
    return part;
  };
  const begin = await written(first);

  async function* pages(): Table["pieces"] {
    yield* piecesOf(begin);
    for (let { next } = first; next !== null;) {
      const page = await readPage(next);
      yield* piecesOf(await written(page));
      ({ next } = page);
    }
    yield writer.end();
  }
  return { total: first.count, pieces: pages() };
}

/** Loads runs and adds their rows. */
const addRuns = (part: Part, runs: readonly ExportedRun[], columns: RunColumns, inPart: InPart) =>
  inPart(async (context) =>
    context.inTurns(addRows(part, await columns.load(runs, context), columns, context)),
  );

function* addRows(part: Part, runs: readonly ExportedRun[], columns: RunColumns, context: Context) {
  const stride = rowsAtOnce(STRIDE, columns.names.length);
  for (const [index, run] of runs.entries()) {
    if (index % stride === stride - 1) yield;
    part.add(columns.cellsOf(run, context));
  }
}
