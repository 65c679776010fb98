import type { Context } from "../../graphql/core/context.ts";
import type { Part } from "./formats.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { readRunPage, type RunPage } from "./run-pages.ts";
import type { Table, TableRequest } from "./table.ts";

/** Rows that are written without a pause. */
const STRIDE = 50;

/** A table with a row for each run. */
export async function openRuns({ source, parameters, format, inPart }: TableRequest): Promise<Table> {
  const { args, columns: chosen } = parameters;
  const given = chosen && new RunColumns(chosen);

  const first = await inPart(async (context) => {
    const page = await readRunPage(source, args, null, context);
    const columns = given ?? RunColumns.of(page.runs, { isWhole: page.next === null });
    const writer = await format.open(columns.names);
    const part = writer.part();
    await addPage(part, page, columns, context);
    return { columns, writer, part, count: page.count, next: page.next };
  });

  async function* pages(): Table["pieces"] {
    const { columns, writer } = first;
    yield first.part.take();
    for (let { next } = first; next !== null;) {
      const after = next;
      const part = writer.part();
      next = await inPart(async (context) => {
        const page = await readRunPage(source, args, after, context);
        await addPage(part, page, columns, context);
        return page.next;
      });
      yield part.take();
    }
    yield writer.end();
  }
  return { total: first.count, pieces: pages() };
}

/** Adds the runs of a page. */
const addPage = async (part: Part, { runs }: RunPage, columns: RunColumns, context: Context) =>
  context.inTurns(addRuns(part, await columns.load(runs, context), columns, context));

function* addRuns(part: Part, runs: readonly ExportedRun[], columns: RunColumns, context: Context) {
  for (const [index, run] of runs.entries()) {
    if (index % STRIDE === STRIDE - 1) yield;
    part.add(columns.cellsOf(run, context));
  }
}
