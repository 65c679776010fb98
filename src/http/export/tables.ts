import type { Context } from "../../graphql/core/context.ts";
import { metricPages } from "../../graphql/types/metrics.ts";
import { exact } from "../../graphql/types/series.ts";
import type { MetricRecord } from "../../rest/api/records.ts";
import type { Cell } from "./formats.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import { openTable, type Part, type Table, type TableRequest, written } from "./table.ts";

/** A value of a metric. */
interface Point {
  readonly metric: string;
  /** Index within its run, among the values of its metric. */
  readonly step: number;
  readonly recordedAt: string | null;
  readonly value: unknown;
}

/** The columns of points. All others are those of their run. */
const POINT: Readonly<Record<string, (point: Point, run: ExportedRun) => Cell>> = {
  metric: ({ metric }) => metric,
  step: ({ step }) => step,
  recordedAt: ({ recordedAt }) => recordedAt,
  secondsSinceStart: ({ recordedAt }, { loaded: { started_at } }) =>
    secondsBetween(started_at ?? null, recordedAt),
  value: ({ value }) => value,
};

const DEFAULT = ["uniqueName", ...Object.keys(POINT)];

/** Seconds from one time to another; null when one is missing or invalid. */
function secondsBetween(from: string | null, to: string | null): number | null {
  if (from === null || to === null) return null;
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return Number.isFinite(seconds) ? seconds : null;
}

/** The points of a run: its records in the order of the service, the values of each by name. */
function* pointsOf(
  pages: readonly (readonly MetricRecord[])[],
  wanted: ReadonlySet<string> | null,
): Generator<Point> {
  const steps = new Map<string, number>();
  for (const page of pages)
    for (const { created_at: recordedAt = null, values } of page)
      for (const metric of Object.keys(values ?? {}).toSorted()) {
        if (wanted && !wanted.has(metric)) continue;
        const step = steps.get(metric) ?? 0;
        steps.set(metric, step + 1);
        yield { metric, step, recordedAt, value: exact(values?.[metric]) };
      }
}

/** The runs whose metrics are read at the same time. */
const AT_ONCE = 4;

/** A table with a row for each value of each metric of each run. */
export async function openMetrics(request: TableRequest): Promise<Table> {
  const { parameters, format, openPart } = request;
  const { columns: chosen, names } = parameters;
  const columns = chosen ?? DEFAULT;
  const isOfPoint = (name: string) => Object.hasOwn(POINT, name);
  const ofRuns = new RunColumns(
    columns.filter((name) => !isOfPoint(name)),
    { besides: Object.keys(POINT) },
  );
  const keys = columns.includes("secondsSinceStart") ? (["started_at"] as const) : [];
  const wanted = names && new Set(names);

  /** Reads the metrics of a run. What is read counts as long as its part has not ended. */
  const read = async (listed: ExportedRun, { context }: Part) => {
    const [run = listed] = await ofRuns.load([listed], context, keys);
    const pages: (readonly MetricRecord[])[] = [];
    for await (const page of metricPages(run, context)) pages.push(page);
    return { run, pages };
  };
  function* rowsOf(
    { run, pages }: Awaited<ReturnType<typeof read>>,
    context: Context,
  ): Generator<readonly Cell[], undefined> {
    const cells = ofRuns.cellsOf(run, context);
    for (const point of pointsOf(pages, wanted)) {
      let next = 0;
      yield columns.map((name) => (isOfPoint(name) ? POINT[name]?.(point, run) : cells[next++]));
    }
  }
  /** The rows of runs, some of which are read together. */
  async function* piecesOf(runs: readonly ExportedRun[]): Table["pieces"] {
    for (let from = 0; from < runs.length; from += AT_ONCE) {
      const parts = runs.slice(from, from + AT_ONCE).map((run) => ({ run, part: openPart() }));
      try {
        const all = await Promise.all(parts.map(({ run, part }) => read(run, part)));
        for (const [index, { part }] of parts.entries()) {
          const one = all[index];
          if (one) yield* written(rowsOf(one, part.context), columns, format, part.context);
          part.end();
        }
      } finally {
        for (const { part } of parts) part.end();
      }
    }
  }
  return openTable(request, () => ({ columns, piecesOf }));
}

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
