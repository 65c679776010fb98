import { nextTurn } from "../../engine/turns.ts";
import type { Context, Steps } from "../../graphql/core/context.ts";
import type { Part, Writer } from "./formats.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { readRunPage } from "./run-pages.ts";
import { rowsWith, type Table, type TableRequest } from "./table.ts";

/** Most runs that are loaded together, and their share of the upstream requests that a part may send. */
const LOADED = { most: 100, share: 1 / 2 };

/** Cells that are added without a pause. */
const STRIDE = 1_500;

/** Cells that are written without a pause: those of a record batch take a few milliseconds. */
const PART = 25_000;

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
  const written = { columns, writer: await format.open(columns.names) };

  const partsOf = async ({ runs, most }: typeof first): Promise<readonly Part[]> => {
    const parts: Part[] = [];
    for (let from = 0; from < runs.length; from += most)
      await inPart(async (context) => {
        const loaded = await columns.load(runs.slice(from, from + most), context);
        await context.inTurns(addRuns(parts, loaded, written, context));
      });
    return parts;
  };
  // Before the response begins: what fails until then has a status.
  const begin = await partsOf(first);

  async function* pages(): Table["pieces"] {
    for (let page = first, parts = begin; ; parts = await partsOf(page)) {
      for (const part of parts) {
        yield part.take();
        await nextTurn();
      }
      if (page.next === null) break;
      page = await readPage(page.next);
    }
    yield written.writer.end();
  }
  return { total: first.count, pieces: pages() };
}

/** What a table is written with. */
interface Written {
  readonly columns: RunColumns;
  readonly writer: Writer;
}

/** Adds the rows of runs: to one part or, where they have many columns, to several. */
function* addRuns(
  parts: Part[],
  runs: readonly ExportedRun[],
  { columns, writer }: Written,
  context: Context,
): Steps<void> {
  const [stride, perPart] = [rowsWith(STRIDE, columns.names), rowsWith(PART, columns.names)];
  for (const [index, run] of runs.entries()) {
    if (index % stride === stride - 1) yield;
    if (index % perPart === 0) parts.push(writer.part());
    parts.at(-1)?.add(columns.cellsOf(run, context));
  }
}
