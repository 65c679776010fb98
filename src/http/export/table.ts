import { yieldToEventLoop } from "../../util/event-loop.ts";
import type { Context, GatewayDetails } from "../../graphql/core/context.ts";
import type { RunsParent } from "../../graphql/core/ids.ts";
import { kinds } from "../../graphql/core/kinds.ts";
import { Experiment } from "../../graphql/core/refs.ts";
import { fetchMore, toResource } from "../../graphql/core/resource.ts";
import { openMetrics } from "../../graphql/types/metrics.ts";
import { type RunListArgs, readRuns, runListOf } from "../../graphql/types/run-list.ts";
import { finite } from "../../graphql/types/series.ts";
import { loopError } from "../../rest/session/page-reader.ts";
import { millisecondsOf } from "../../rest/api/record.ts";
import type { MetricRecord } from "../../rest/api/records.ts";
import { openChunks, type ExportRow } from "./chunks.ts";
import type { Format } from "./formats.ts";
import type { ExportParameters } from "./parameters.ts";
import { createLeftOut, ERROR, type LeftOut } from "./left-out.ts";
import {
  type Columns,
  columnsIn,
  columnsOf,
  type ExportedRun,
  keysOf,
  loadFor,
  type NamedColumn,
} from "./run-columns.ts";

interface RunPage {
  readonly runs: readonly ExportedRun[];
  /** Length of the whole list; null when unknown. */
  readonly count: number | null;
  /** Cursor of the next page; null at the end of the list. */
  readonly next: string | null;
}

const list = runListOf(Experiment.name);

async function readRunPage(
  { address, group }: RunsParent,
  args: RunListArgs,
  after: string | null,
  context: Context,
): Promise<RunPage> {
  const page = await readRuns(
    { list, address, listedIn: group },
    { ...args, order: args.order ?? defaultOrder(context), first: context.gateway.maxPageSize, after },
    context,
  );
  // The service returns an empty list for a group that does not exist.
  if (group && after === null && page.nodes.length === 0)
    await fetchMore(toResource(kinds.Group, group), [], context.session);
  return {
    // Safe: the nodes of this list are experiments.
    runs: [...page.nodes] as readonly ExportedRun[],
    count: page.count,
    next: page.hasNext ? page.endCursor() : null,
  };
}

/**
 * The oldest run first, if the server supports this order. Runs that begin during the export then come last, and no run changes its
 * position.
 */
const defaultOrder = ({ server }: Context): RunListArgs["order"] =>
  server.profile.orders.CREATED_ASC ? { by: { field: "CREATED_AT" }, direction: "ASC" } : null;

/** A scope for some reads of an export, with its own context. When the scope ends, the responses of these reads are released. */
export interface ReadScope {
  readonly context: Context;
  readonly end: () => void;
}

/** Rows that were read together. `more` reads further rows of the same runs, in a new scope; null if there are none. */
interface RowBatch {
  readonly rows: Iterator<ExportRow, undefined>;
  readonly more: ((context: Context) => Promise<RowBatch>) | null;
}

/** Reads the rows of a table: the rows of `runsPerRead` runs in one scope, with `readsAtOnce` such reads in parallel. */
interface Rows {
  readonly columns: readonly NamedColumn[];
  readonly runsPerRead: number;
  readonly readsAtOnce: number;
  readonly read: (runs: readonly ExportedRun[], context: Context) => Promise<RowBatch>;
  /** Called after the last row. Throws if a run is missing from the table and no column reports it. */
  readonly end: () => void;
}

type RowsOf = (first: RunPage, context: Context) => Promise<Rows>;

/**
 * Opens a table. It reads the list of runs page by page, each page in its own scope. `count` is the number of runs in the table; null if it
 * is unknown. `text` yields a few rows at a time, as they are read. The first of these strings begins with the head of the file.
 */
export async function openTable(
  source: RunsParent,
  args: RunListArgs,
  format: Format,
  openScope: () => ReadScope,
  rowsOf: RowsOf,
) {
  const inScope = async <Result>(act: (context: Context) => Promise<Result>): Promise<Result> => {
    const { context, end } = openScope();
    try {
      return await act(context);
    } finally {
      end();
    }
  };
  const readPage = (after: string | null) => inScope((context) => readRunPage(source, args, after, context));
  const first = await readPage(null);
  const table = await inScope((context) => rowsOf(first, context));
  const { columns, runsPerRead, readsAtOnce } = table;

  /** Yields the rows of the next runs from `start` on, which are read in parallel. */
  async function* chunksOf(runs: readonly ExportedRun[], start: number): AsyncGenerator<string, undefined> {
    const scopes = Array.from({ length: readsAtOnce }, (_, index) => {
      const from = start + index * runsPerRead;
      return { ...openScope(), own: runs.slice(from, from + runsPerRead) };
    });
    // A failure ends the scope of the export, and with it all of these scopes.
    const all = await Promise.all(scopes.map(({ own, context }) => table.read(own, context)));
    for (const [index, begun] of scopes.entries()) {
      let [scope, batch]: [ReadScope, RowBatch | undefined] = [begun, all[index]];
      while (batch) {
        const { rows, more } = batch;
        const next = openChunks(rows, columns, format, scope.context);
        for (let chunk = await next(); chunk !== ""; chunk = await next()) {
          yield chunk;
          await yieldToEventLoop();
        }
        scope.end();
        if (more) scope = openScope();
        batch = await more?.(scope.context);
      }
    }
  }
  async function* textOf(): AsyncGenerator<string, undefined> {
    let head = format.head(columns.map(({ name }) => name));
    const seen = new Set<string>();
    for (let page = first; ; page = await readPage(page.next)) {
      for (let from = 0; from < page.runs.length; from += runsPerRead * readsAtOnce)
        for await (const chunk of chunksOf(page.runs, from)) {
          yield head + chunk;
          head = "";
        }
      if (page.next === null) break;
      if (seen.has(page.next)) throw loopError(list.endpoint.path);
      seen.add(page.next);
    }
    table.end();
    if (head !== "") yield head;
  }
  return { count: first.count, text: textOf() };
}

interface Point {
  readonly metric: string;
  /** Index of the point among the values of its metric in the run. */
  readonly step: number;
  readonly recordedAt: string | null;
  readonly value: number | null;
}

/** The columns of points. All other columns show the run of the point. */
const POINT: Columns<Partial<Point> & LeftOut> = {
  metric: { keys: [], cellOf: (_, { metric = null }) => metric },
  step: { keys: [], cellOf: (_, { step = null }) => step },
  recordedAt: { keys: [], cellOf: (_, { recordedAt = null }) => recordedAt },
  secondsSinceStart: {
    keys: ["started_at"],
    cellOf: ({ loaded }, { recordedAt = null }) => secondsBetween(loaded.started_at ?? null, recordedAt),
  },
  value: { keys: [], cellOf: (_, { value = null }) => value },
  ...ERROR,
};

const DEFAULT = ["uniqueName", ...Object.keys(POINT)];

/** Seconds from one time to another; null when one is missing or invalid. */
function secondsBetween(from: string | null, to: string | null): number | null {
  const seconds = (millisecondsOf(to ?? "") - millisecondsOf(from ?? "")) / 1000;
  return Number.isFinite(seconds) ? seconds : null;
}

/**
 * The points of metric records, in upstream order. The points of one record are sorted by name. `steps` counts the points of each metric.
 */
function* pointsOf(
  records: readonly MetricRecord[],
  wanted: ReadonlySet<string> | null,
  steps: Map<string, number>,
): Generator<Point> {
  for (const { created_at: recordedAt = null, values } of records)
    for (const metric of Object.keys(values ?? {}).toSorted()) {
      if (wanted && !wanted.has(metric)) continue;
      const step = steps.get(metric) ?? 0;
      steps.set(metric, step + 1);
      yield { metric, step, recordedAt, value: finite(values?.[metric]) };
    }
}

/** Number of runs whose metrics are read concurrently. */
const ROWS_AT_ONCE = 4;

function* rowsWith(
  run: ExportedRun,
  points: Iterable<Partial<Point> & LeftOut>,
  now: number,
): Generator<ExportRow, undefined> {
  for (const detail of points) yield { run, detail, now };
}

/** A table with a row for each value of each metric of each run. */
export function rowsOfMetrics({ columns: chosen, names }: ExportParameters): RowsOf {
  const columns = columnsOf(chosen ?? DEFAULT, POINT);
  const wanted = names && new Set(names);
  const leftOut = createLeftOut(columns);
  const keys = keysOf(columns);
  async function read([listed]: readonly ExportedRun[], context: Context): Promise<RowBatch> {
    if (!listed) return { rows: [].values(), more: null };
    let run = listed;
    const metrics = openMetrics(run);
    const steps = new Map<string, number>();
    const readPage = async ({ session }: Context): Promise<RowBatch> => {
      const { rest } = await metrics.nextOfAll(session);
      leftOut.countRead();
      return {
        rows: rowsWith(run, pointsOf(rest, wanted, steps), session.upstreamTime()),
        more: metrics.isDone() ? null : readOn,
      };
    };
    const leaveOut = (failure: unknown): RowBatch => ({
      rows: rowsWith(run, leftOut.rowsOf(failure), context.session.upstreamTime()),
      more: null,
    });
    const readOn = (next: Context) => readPage(next).catch(leaveOut);
    const begin = async () => {
      run = await loadFor(keys, run, context);
      return readPage(context);
    };
    return begin().catch(leaveOut);
  }
  return async () => ({ columns, runsPerRead: 1, readsAtOnce: ROWS_AT_ONCE, read, end: leftOut.end });
}

/** Maximum runs that are loaded together. `share`: the share of a scope's upstream requests that they may use. */
const LOADED = { most: 100, share: 1 / 2 };

/** A table with a row for each run. A run costs an upstream request if the list lacks some of the keys. */
export function rowsOfRuns(
  { columns: names }: ExportParameters,
  { maxUpstreamRequests }: GatewayDetails,
): RowsOf {
  const given = names && columnsOf(names, ERROR);
  return async (first, context) => {
    const columns = given ?? (await context.runCooperatively(columnsIn(first.runs, first.next === null)));
    const leftOut = createLeftOut(columns);
    const keys = keysOf(columns);
    const readRow = (listed: ExportedRun, own: Context): Promise<readonly ExportRow[]> =>
      loadFor(keys, listed, own).then(
        (run) => {
          leftOut.countRead();
          return [{ run, detail: {}, now: own.session.upstreamTime() }];
        },
        (failure: unknown) =>
          leftOut.rowsOf(failure).map((detail) => ({ run: listed, detail, now: own.session.upstreamTime() })),
      );
    return {
      columns,
      runsPerRead: Math.min(LOADED.most, Math.ceil(maxUpstreamRequests * LOADED.share)),
      readsAtOnce: 1,
      read: async (runs, own) => {
        const rows = await Promise.all(runs.map((run) => readRow(run, own)));
        return { rows: rows.flat().values(), more: null };
      },
      end: leftOut.end,
    };
  };
}
