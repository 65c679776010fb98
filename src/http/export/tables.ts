import type { Context, GatewayFacts } from "../../graphql/core/context.ts";
import { metricPages } from "../../graphql/types/metrics.ts";
import { exact } from "../../graphql/types/series.ts";
import type { MetricRecord } from "../../rest/api/records.ts";
import type { Cell } from "./formats.ts";
import { type ExportedRun, RunColumns } from "./run-columns.ts";
import type { ExportParameters } from "./parameters.ts";
import type { RunPage, Rows } from "./table.ts";

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

/** Makes each when it is asked for. */
function* mapped<From, To>(all: Iterable<From>, convert: (one: From) => To): Generator<To, undefined> {
  for (const one of all) yield convert(one);
}

/** The runs whose metrics are read at the same time. */
const AT_ONCE = 4;

/** A table with a row for each value of each metric of each run. */
export function rowsOfMetrics({ columns: chosen, names }: ExportParameters): (first: RunPage) => Rows {
  const columns = chosen ?? DEFAULT;
  const isOfPoint = (name: string) => Object.hasOwn(POINT, name);
  const ofRuns = new RunColumns(
    columns.filter((name) => !isOfPoint(name)),
    { besides: Object.keys(POINT) },
  );
  const keys = columns.includes("secondsSinceStart") ? (["started_at"] as const) : [];
  const wanted = names && new Set(names);

  async function read(listed: readonly ExportedRun[], context: Context) {
    const [run] = await ofRuns.load(listed, context, keys);
    if (!run) return [].values();
    const pages: (readonly MetricRecord[])[] = [];
    for await (const page of metricPages(run, context)) pages.push(page);
    const cells = ofRuns.cellsOf(run, context);
    return mapped(pointsOf(pages, wanted), (point) => {
      let next = 0;
      return columns.map((name) => (isOfPoint(name) ? POINT[name]?.(point, run) : cells[next++]));
    });
  }
  return () => ({ columns, runsOfPart: 1, partsAtOnce: AT_ONCE, read });
}

/** Most runs that are loaded together, and their share of the upstream requests that a part may send. */
const LOADED = { most: 100, share: 1 / 2 };

/** A table with a row for each run. One of which the list does not tell all may cost a request. */
export function rowsOfRuns(
  { columns: names }: ExportParameters,
  { maxUpstreamRequests }: GatewayFacts,
): (first: RunPage) => Rows {
  const given = names && new RunColumns(names);
  return (first) => {
    const columns = given ?? RunColumns.of(first.runs, { isWhole: first.next === null });
    return {
      columns: columns.names,
      runsOfPart: Math.min(LOADED.most, Math.ceil(maxUpstreamRequests * LOADED.share)),
      partsAtOnce: 1,
      read: async (runs, context) =>
        mapped(await columns.load(runs, context), (run) => columns.cellsOf(run, context)),
    };
  };
}
