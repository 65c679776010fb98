import type { Context } from "../../graphql/core/context.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { readRunPage, type RunPage } from "./run-pages.ts";
import type { Table, TableRequest } from "./table.ts";

/** Rows that are written without a pause. */
const STRIDE = 50;

/** A table with a row for each run. */
export async function openRuns({ source, parameters, format, inPart }: TableRequest): Promise<Table> {
  const { args, columns: chosen } = parameters;
  const given = chosen && new RunColumns(chosen);

  function* rowsOf(runs: readonly ExportedRun[], columns: RunColumns, context: Context) {
    let text = "";
    for (const [index, run] of runs.entries()) {
      if (index % STRIDE === STRIDE - 1) yield;
      text += format.row(columns.names, columns.cellsOf(run, context));
    }
    return text;
  }
  const written = async ({ runs, next }: RunPage, columns: RunColumns, context: Context) => {
    const rows = await columns.load(runs, context);
    return { text: await context.inTurns(rowsOf(rows, columns, context)), next };
  };

  const first = await inPart(async (context) => {
    const page = await readRunPage(source, args, null, context);
    const columns = given ?? RunColumns.of(page.runs, { isWhole: page.next === null });
    return { columns, count: page.count, ...(await written(page, columns, context)) };
  });

  async function* pages(): Table["text"] {
    const { columns } = first;
    yield format.head(columns.names) + first.text;
    for (let { next } = first; next !== null;) {
      const after = next;
      const part = await inPart(async (context) =>
        written(await readRunPage(source, args, after, context), columns, context),
      );
      ({ next } = part);
      yield part.text;
    }
  }
  return { total: first.count, text: pages() };
}
