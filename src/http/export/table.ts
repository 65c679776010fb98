import { nextTurn } from "../../engine/turns.ts";
import { UpstreamError } from "../../errors.ts";
import type { Context, Steps } from "../../graphql/core/context.ts";
import { identifyAmong, PARENTS } from "../../graphql/core/ids.ts";
import { kinds, type ProjectAddress } from "../../graphql/core/kinds.ts";
import { Experiment } from "../../graphql/core/refs.ts";
import { fetchMore, toResource } from "../../graphql/core/resource.ts";
import { type RunListArgs, readRuns, runListOf } from "../../graphql/types/run-list.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import type { Cell, Format } from "./formats.ts";
import type { ExportParameters } from "./parameters.ts";
import type { ExportedRun } from "./run-columns.ts";

/** Whose runs are exported: a group's, or a project's. */
interface Source {
  readonly address: ProjectAddress;
  readonly group: RunAddress | null;
  /** Its unique name. */
  readonly name: string;
}

/** Finds the source by its global id or unique name. Throws `InputError`. */
export function sourceOf(id: string): Source {
  const { kind, address } = identifyAmong(PARENTS, "id", id);
  const name = kind.formatName(address);
  // Safe: addresses have the parameters of their kind. The same applies below.
  if (kind.name === kinds.project.name) return { address: address as ProjectAddress, group: null, name };
  const group = address as RunAddress;
  return { address: group, group, name };
}

/** A part of the list of runs. */
interface RunPage {
  readonly runs: readonly ExportedRun[];
  /** Length of the whole list; null when unknown. */
  readonly count: number | null;
  /** Where the list goes on; null at its end. */
  readonly next: string | null;
}

const list = runListOf(Experiment.kind);

/** Reads the page behind a cursor. */
async function readRunPage(
  { address, group }: Source,
  args: RunListArgs,
  after: string | null,
  context: Context,
): Promise<RunPage> {
  const paged = {
    ...args,
    order: args.order ?? defaultOrder(context),
    first: context.gateway.maxPageSize,
    after,
  };
  const page = await readRuns({ list, address, listedIn: group }, paged, context);
  // The service returns an empty list for a group that does not exist.
  if (group && after === null && page.nodes.length === 0)
    await fetchMore(toResource(kinds.group, group), [], context.session);
  const next = page.hasNext ? page.endCursor() : null;
  // The list would end too early, or never.
  if (page.hasNext && (next === null || next === after))
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's list does not go on.");
  return {
    // Safe: they are the experiments of the list.
    runs: [...page.nodes] as readonly ExportedRun[],
    count: page.count,
    next,
  };
}

/** The oldest first, where the server can: what begins meanwhile then comes last, and nothing moves. */
const defaultOrder = ({ server }: Context): RunListArgs["order"] =>
  server.profile.orders.CREATED_ASC ? { field: "CREATED", direction: "ASC" } : null;

/** A part of an export with a context of its own: what it has read is let go when it ends. */
export interface Part {
  readonly context: Context;
  readonly end: () => void;
}

/** What a table is made from. */
export interface TableRequest {
  readonly source: Source;
  readonly parameters: ExportParameters;
  readonly format: Format;
  readonly openPart: () => Part;
}

/** A table under way. */
export interface Table {
  readonly columns: readonly string[];
  /** Number of runs that it describes; null when unknown. */
  readonly total: number | null;
  /** Its rows as text, some at a time. Each piece is made when it is read. */
  readonly pieces: AsyncGenerator<string, undefined>;
}

/** A table after the first page of the list of runs. */
interface Opened {
  readonly columns: readonly string[];
  /** The rows of the runs of a page as text. */
  readonly piecesOf: (runs: readonly ExportedRun[]) => Table["pieces"];
}

/** Opens a table, which reads one page of the list of runs after the other. Each is a part of its own. */
export async function openTable(request: TableRequest, open: (first: RunPage) => Opened): Promise<Table> {
  const readPage = async (after: string | null): Promise<RunPage> => {
    const { context, end } = request.openPart();
    try {
      return await readRunPage(request.source, request.parameters.args, after, context);
    } finally {
      end();
    }
  };
  const first = await readPage(null);
  const { columns, piecesOf } = open(first);
  async function* pieces(): Table["pieces"] {
    for (let page = first; ; page = await readPage(page.next)) {
      yield* piecesOf(page.runs);
      if (page.next === null) break;
    }
  }
  return { columns, total: first.count, pieces: pieces() };
}

/** Cells that are made without a pause. */
const STRIDE = 1_200;

/** Characters of a piece, which takes a few milliseconds to send. */
const PIECE = 500_000;

/** Writes rows until a piece of the file is full, with pauses. Gives an empty one after the last row. */
function* nextPiece(
  rows: Iterator<readonly Cell[], undefined>,
  columns: readonly string[],
  { lineOf }: Format,
): Steps<string> {
  let [piece, cells] = ["", 0];
  for (let row = rows.next(); !row.done; row = rows.next()) {
    piece += lineOf(row.value, columns);
    if (piece.length >= PIECE) break;
    cells += columns.length;
    if (cells < STRIDE) continue;
    cells = 0;
    yield;
  }
  return piece;
}

/** Writes rows piece by piece, each when it is read. Others have their turns between two pieces. */
export async function* written(
  rows: Iterator<readonly Cell[], undefined>,
  columns: readonly string[],
  format: Format,
  context: Context,
): AsyncGenerator<string, undefined> {
  for (;;) {
    const piece = await context.inTurns(nextPiece(rows, columns, format));
    if (piece === "") return;
    yield piece;
    await nextTurn();
  }
}
