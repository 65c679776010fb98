import { nextTurn } from "../../engine/turns.ts";
import type { Context } from "../../graphql/core/context.ts";
import type { Part, Writer } from "./formats.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { readRunPage, type RunPage } from "./run-pages.ts";
import { rowsWith, type Table, type TableRequest } from "./table.ts";

/** Cells that are added without a pause. */
const STRIDE = 1_500;

/** Cells that are written without a pause: those of a record batch take a few milliseconds. */
const PART = 25_000;

/** A table with a row for each run. */
export async function openRuns({ source, parameters, format, inPart }: TableRequest): Promise<Table> {
  const { args, columns: chosen } = parameters;
  const given = chosen && new RunColumns(chosen);

  const first = await inPart(async (context) => {
    const page = await readRunPage(source, args, null, context);
    const columns = given ?? RunColumns.of(page.runs, { isWhole: page.next === null });
    const writer = await format.open(columns.names);
    const parts = await partsOf(page, { columns, writer }, context);
    return { columns, writer, parts, count: page.count, next: page.next };
  });

  async function* pages(): Table["pieces"] {
    const { writer } = first;
    for (let { parts, next } = first; ;) {
      for (const part of parts) {
        yield part.take();
        await nextTurn();
      }
      const after = next;
      if (after === null) break;
      ({ parts, next } = await inPart(async (context) => {
        const page = await readRunPage(source, args, after, context);
        return { parts: await partsOf(page, first, context), next: page.next };
      }));
    }
    yield writer.end();
  }
  return { total: first.count, pieces: pages() };
}

/** What a table is written with. */
interface Written {
  readonly columns: RunColumns;
  readonly writer: Writer;
}

/** The runs of a page: one part or, where they have many columns, several. */
async function partsOf({ runs }: RunPage, written: Written, context: Context): Promise<readonly Part[]> {
  const loaded = await written.columns.load(runs, context);
  return context.inTurns(addRuns(loaded, written, context));
}

function* addRuns(
  runs: readonly ExportedRun[],
  { columns, writer }: Written,
  context: Context,
): Generator<undefined, readonly Part[]> {
  const parts: Part[] = [];
  const [stride, perPart] = [rowsWith(STRIDE, columns.names), rowsWith(PART, columns.names)];
  for (const [index, run] of runs.entries()) {
    if (index % stride === stride - 1) yield;
    if (index % perPart === 0) parts.push(writer.part());
    parts.at(-1)?.add(columns.cellsOf(run, context));
  }
  return parts;
}
