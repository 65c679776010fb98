import { roundedOf } from "../../rest/api/reader.ts";
import { isRawJSON } from "../../rest/api/record.ts";
import type { MetricRecord } from "../../rest/api/records.ts";
import { forEach, makeEach, type CooperativeTask } from "../../util/cooperative-task.ts";
import { byName, keysOf, sorted } from "../core/cooperative-algorithms.ts";

export interface Series {
  readonly name: string;
  /** Number of points before downsampling. */
  readonly totalPoints: number;
  /** The index that each point had before downsampling; null if no point was dropped. */
  readonly steps: readonly number[] | null;
  readonly times: readonly (string | null)[];
  readonly values: readonly (number | null)[];
  /** The values of the metric `x` in the same records; null if no such metric was requested, or if no record has it. */
  readonly x: readonly (number | null)[] | null;
}

/** All points of a metric. `points` has the indexes of the points with a value. */
export interface SeriesColumn {
  readonly name: string;
  readonly times: readonly (string | null)[];
  readonly values: readonly (number | null)[];
  readonly points: readonly number[];
  readonly x: Series["x"];
}

type Valued = Pick<SeriesColumn, "values" | "points">;

/** Returns a finite number, and rounds a long integer. Returns null for any other value: some servers also send strings and objects. */
export function finite(raw: unknown): number | null {
  const value = typeof raw === "number" ? raw : roundedOf(raw);
  return Number.isFinite(value) ? value : null;
}

/** Memory of a column, and of each value in it, in charged bytes (`memory-budget.ts`). */
const COLUMN_BYTES = 300;
const VALUE_BYTES = 20;

/** Rounds the long integers in a metric, because only parameters keep all digits. Copies only lists and objects that contain one. */
export function* asMetric(raw: unknown): CooperativeTask<unknown> {
  const value = finite(raw);
  if (value !== null || typeof raw !== "object" || raw === null || isRawJSON?.(raw)) return value ?? raw;
  const rounded = new Map<PropertyKey, unknown>();
  let seen = 0;
  for (const key of keysOf(raw)) {
    if (++seen % VALUES_STRIDE === 0) yield;
    const inner: unknown = Reflect.get(raw, key);
    const isNested = typeof inner === "object" && inner !== null;
    const metric = isNested ? yield* asMetric(inner) : (finite(inner) ?? inner);
    if (metric === inner) continue;
    yield VALUE_BYTES;
    rounded.set(key, metric);
  }
  yield rounded.size > 0 ? seen * VALUE_BYTES : 0;
  if (rounded.size === 0) return raw;
  if (Array.isArray(raw)) return raw.map((inner, index) => rounded.get(index) ?? inner);
  return Object.fromEntries(Object.entries(raw).map(([key, inner]) => [key, rounded.get(key) ?? inner]));
}

/** Number of values between two yields. */
const VALUES_STRIDE = 500;

/** Returns the columns of metric records, sorted by name. With `x`, each column also has the values of this metric in its records. */
export function* columnsOf(
  pages: readonly (readonly MetricRecord[])[],
  x: string | null,
): CooperativeTask<readonly SeriesColumn[]> {
  const columns = new Map<string, ReturnType<typeof emptyColumn>>();
  for (const page of pages)
    yield* forEach(page, ({ created_at: time = null, values }) => {
      const names = values ? Object.keys(values) : [];
      const known = columns.size;
      const at = x === null ? null : finite(values?.[x]);
      for (const name of names) {
        const column = columns.get(name) ?? emptyColumn(name);
        if (column.times.push(time) === 1) columns.set(name, column);
        const value = finite(values?.[name]);
        if (value !== null) column.points.push(column.values.length);
        column.values.push(value);
        if (x === null) continue;
        column.xs.push(at);
        column.hasX ||= at !== null;
      }
      return names.length * VALUE_BYTES * (x === null ? 1 : 2) + (columns.size - known) * COLUMN_BYTES;
    });
  const all = [...columns.values()].map(({ xs, hasX, ...column }) => ({ ...column, x: hasX ? xs : null }));
  return yield* sorted(all, byName);
}

const emptyColumn = (name: string) => ({
  name,
  times: [] as (string | null)[],
  values: [] as (number | null)[],
  points: [] as number[],
  xs: [] as (number | null)[],
  hasX: false,
});

export const seriesOf = (columns: readonly SeriesColumn[], maxPoints: number): CooperativeTask<Series[]> =>
  makeEach(columns, function* (column) {
    const { name, values } = column;
    yield Math.min(values.length, maxPoints) * VALUE_BYTES * (column.x ? 2 : 1);
    return { name, totalPoints: values.length, ...thinned(column, maxPoints) };
  });

function thinned(column: SeriesColumn, maxPoints: number): Pick<Series, "steps" | "times" | "values" | "x"> {
  const { times, values, x } = column;
  if (values.length <= maxPoints) return { steps: null, times, values, x };
  // At least half of the kept points have a value, if enough points have one. The others are ends of gaps.
  const ends = endsOfGaps(column, maxPoints - Math.min(column.points.length, Math.max(2, maxPoints >> 1)));
  const kept = [...lttb(column, maxPoints - ends.length), ...ends].toSorted((one, other) => one - other);
  return {
    steps: kept,
    times: kept.map((index) => times[index] ?? null),
    values: kept.map((index) => values[index] ?? null),
    x: x && kept.map((index) => x[index] ?? null),
  };
}

/**
 * Returns the first and the last point of each gap: of consecutive points without a value. Prefers the longest gaps if there are more than
 * `most` points.
 */
function endsOfGaps({ values, points }: Valued, most: number): readonly number[] {
  const gaps: { readonly from: number; readonly to: number }[] = [];
  let begin = 0;
  for (const point of [...points, values.length]) {
    if (point > begin) gaps.push({ from: begin, to: point - 1 });
    begin = point + 1;
  }
  const lengths = Float64Array.from(gaps, ({ from, to }) => to - from).toSorted();
  // All gaps that are longer than this fit, so they are added first.
  const shortest = lengths.at(-1 - (most >> 1)) ?? -1;
  const ends = new Set<number>();
  for (const isNext of [(length: number) => length > shortest, (length: number) => length <= shortest])
    for (const { from, to } of gaps) if (isNext(to - from) && ends.size + 2 <= most) ends.add(from).add(to);
  return [...ends];
}

/**
 * Downsamples the points with a value by Largest-Triangle-Three-Buckets (Steinarsson 2013). Keeps the first and the last point, and one
 * point of each bucket: the one whose triangle with the previously kept point and the average of the next bucket is largest. Returns the
 * indexes of the kept points. No package is used, because the available ones are unmaintained.
 */
function lttb({ values, points }: Valued, maxPoints: number): readonly number[] {
  if (points.length <= maxPoints) return points;
  const heightAt = (point: number) => values[points[point] ?? 0] ?? 0;
  const inner = points.length - 2;
  const buckets = maxPoints - 2;
  const edge = (bucket: number) => 1 + Math.floor((bucket * inner) / buckets);
  const kept = [0];
  let from = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    const end = edge(bucket + 1);
    const next = (bucket + 1 < buckets ? edge(bucket + 2) : points.length) - end;
    const x = end + (next - 1) / 2;
    let y = 0;
    for (let point = end; point < end + next; point++) y += heightAt(point) / next;
    const origin = heightAt(from);
    let best = edge(bucket);
    let largest = Number.NaN;
    for (let point = best; point < end; point++) {
      const area = Math.abs((from - x) * (heightAt(point) - origin) - (from - point) * (y - origin));
      if (point === best) largest = area;
      else if (area > largest) {
        best = point;
        largest = area;
      }
    }
    from = best;
    kept.push(best);
  }
  kept.push(points.length - 1);
  return kept.map((point) => points[point] ?? 0);
}
