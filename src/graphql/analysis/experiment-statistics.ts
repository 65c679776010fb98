import { entriesOf, valueAt } from "../../rest/api/record.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";
import type { Context } from "../core/context.ts";
import { referenceIn } from "../core/ids.ts";
import { kinds } from "../core/kinds.ts";
import { forEach, makeEach, type CooperativeTask } from "../../util/cooperative-task.ts";
import { byName, sorted } from "../core/cooperative-algorithms.ts";
import { isNamedIn } from "../types/metrics.ts";
import { finite } from "../types/series.ts";
import { durationSeconds, phaseOf, type RunStatus, statusOf } from "../types/status.ts";
import { medianOf, Moments, rankCorrelation } from "./statistics.ts";

/* Statistics of a list of runs. Statistics of parameters and metrics are computed from columns: the values of one name in all rows. */

/** The record of an experiment in a list. It may lack keys. */
export type Row = Partial<ExperimentRecord>;

/** The record keys with the parameters and with the latest metrics. */
export type ColumnKey = "declarations" | "last_metric";

/** The values of one parameter or metric. */
export interface Column {
  readonly name: string;
  readonly values: readonly unknown[];
  /** The index of the row to which each value belongs. */
  readonly rows: readonly number[];
}

/** Memory of a column, and of each value in it, in charged bytes (`memory-budget.ts`). */
const BYTES = { column: 250, value: 14 };

/** Returns the columns of rows, sorted by name. All statistics of the same rows share the columns. */
export const columnsOf = (
  rows: readonly Row[],
  key: ColumnKey,
  context: Pick<Context, "memoized">,
): Promise<readonly Column[]> => context.memoized(rows, ["columns", key], () => makeColumns(rows, key));

/** The time is proportional to the number of values and does not depend on the number of names. */
function* makeColumns(rows: readonly Row[], key: ColumnKey): CooperativeTask<readonly Column[]> {
  const columns = new Map<string, { name: string; values: unknown[]; rows: number[] }>();
  for (const [index, row] of rows.entries())
    yield* forEach(entriesOf(row[key]), ([name, value]) => {
      const column = columns.get(name) ?? { name, values: [], rows: [] };
      // `entriesOf` yields a name twice if two paths through nested objects have it. The first one counts.
      if (column.rows.at(-1) === index) return 0;
      column.rows.push(index);
      if (column.values.push(value ?? null) > 1) return BYTES.value;
      columns.set(name, column);
      return BYTES.value + BYTES.column + name.length;
    });
  return yield* sorted([...columns.values()], byName);
}

/** Memory of one computed statistic, in charged bytes. */
const STATISTIC_BYTES = 100;

/** Sorts by count, largest first. Equal counts keep their order. */
const mostFrequentFirst = (one: { count: number }, other: { count: number }): number =>
  other.count - one.count;

export function* statusesOf(rows: readonly Row[]) {
  const counts = new Map<RunStatus, number>();
  yield* forEach(rows, ({ last_status }) => {
    const status = statusOf(last_status);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  });
  return [...counts].map(([status, count]) => ({ status, count })).toSorted(mostFrequentFirst);
}

/** Number of characters of JSON after which the computation yields. */
const CHARACTERS_PER_SLICE = 20_000;

export const parametersIn = (
  columns: readonly Column[],
  { runs, onlyDifferences }: { readonly runs: number; readonly onlyDifferences: boolean },
) =>
  makeEach(columns, function* ({ name, values }) {
    yield STATISTIC_BYTES;
    const counts = new Map<string, { readonly value: unknown; count: number }>();
    const numbers = new Moments();
    let [written, bytes] = [0, 0];
    for (const value of values) {
      const number = finite(value);
      if (number !== null) numbers.add(number);
      const key = JSON.stringify(value);
      const known = counts.get(key) ?? { value, count: 0 };
      if (known.count++ === 0) {
        counts.set(key, known);
        bytes += STATISTIC_BYTES + key.length;
      }
      // Equal values take no memory, but writing them takes time.
      written += STATISTIC_BYTES + key.length;
      if (written < CHARACTERS_PER_SLICE) continue;
      yield bytes;
      [written, bytes] = [0, 0];
    }
    yield bytes;
    if (onlyDifferences && counts.size === 1 && values.length === runs) return null;
    const different = [...counts.values()].toSorted(mostFrequentFirst);
    return { name, count: values.length, values: different, ...rangeOf(numbers) };
  });

const rangeOf = ({ count, min, max }: Moments) => (count > 0 ? { min, max } : { min: null, max: null });

export const statisticsOf = (columns: readonly Column[], names: readonly string[] | null | undefined) =>
  makeEach(columns.filter(isNamedIn(names)), statisticsOfColumn);

function* statisticsOfColumn({ name, values }: Pick<Column, "name" | "values">) {
  yield STATISTIC_BYTES;
  const moments = new Moments();
  const numbers: number[] = [];
  yield* forEach(values, (value) => {
    const number = finite(value);
    if (number === null) return;
    moments.add(number);
    numbers.push(number);
  });
  const { count } = moments;
  return {
    name,
    count,
    leftOut: values.length - count,
    mean: moments.mean(),
    standardDeviation: moments.standardDeviation(),
    ...rangeOf(moments),
    median: medianOf(numbers),
  };
}

/** Statistics of durations. `now`: the time of the upstream service in milliseconds, at which the durations of active runs end. */
export const durationsOf = (rows: readonly Row[], now: number) =>
  statisticsOfColumn({ name: "durationSeconds", values: rows.map((row) => durationSeconds(row, now)) });

/** The properties by which runs can be grouped, each with its description in the schema. */
export const PROPERTIES = {
  GROUP: "Its group, by `reference`. Runs without a group count under null.",
  PHASE: "Its phase.",
  STATUS: "Its status.",
  TAG: "Its tags. A run with several tags counts for each; one without tags counts under null.",
  USER: "Login name of its creator.",
} as const;

type Property = keyof typeof PROPERTIES;

/** A key by which runs are grouped. Exactly one of `property` and `parameter` is given. */
export interface BreakdownKey {
  readonly property?: Property | null | undefined;
  readonly parameter?: string | null | undefined;
}

/** The values of a run for each property. A run counts once for each value; a run without a value counts under null. */
const VALUES_OF: Readonly<Record<Property, (row: Row) => readonly unknown[]>> = {
  STATUS: ({ last_status }) => [statusOf(last_status)],
  PHASE: (row) => [phaseOf(row)],
  USER: ({ user }) => [user ?? null],
  GROUP: ({ experiment_group: name }) => [name == null ? null : referenceIn(kinds.Group, name)],
  TAG: ({ tags }) => (tags && tags.length > 0 ? [...new Set(tags)] : [null]),
};

const valuesBy = ({ property, parameter }: BreakdownKey, row: Row): readonly unknown[] =>
  property ? VALUES_OF[property](row) : [valueAt(row.declarations, parameter ?? "") ?? null];

/** Whether at least one row has a value under a name. */
export function* hasName(rows: readonly Row[], key: ColumnKey, name: string): CooperativeTask<boolean> {
  let isFound = false;
  yield* forEach(rows, (row) => {
    isFound ||= valueAt(row[key], name) !== undefined;
  });
  return isFound;
}

/** Groups rows by the combination of their values for some keys. Returns the largest group first. */
export function* breakdownOf(rows: readonly Row[], by: readonly BreakdownKey[]) {
  const groups = new Map<string, { readonly values: readonly unknown[]; readonly records: Row[] }>();
  /** Numbers the distinct values, by their JSON. Combinations are compared by these numbers, because values may be long. */
  const ordinals = new Map<string, number>();
  let [written, bytes] = [0, 0];
  const ordinalOf = (value: unknown): number => {
    const text = JSON.stringify(value);
    written += text.length;
    const known = ordinals.get(text);
    if (known !== undefined) return known;
    bytes += STATISTIC_BYTES + text.length;
    ordinals.set(text, ordinals.size);
    return ordinals.size - 1;
  };
  for (const row of rows) {
    const choices = by.map((key) => valuesBy(key, row));
    const firsts = choices.map(([first]) => first);
    const key: number[] = [];
    for (const first of firsts) {
      key.push(ordinalOf(first));
      if (written < CHARACTERS_PER_SLICE) continue;
      yield bytes;
      [written, bytes] = [0, 0];
    }
    // Only tags have several values per run, so at most one key of the breakdown does.
    const several = Math.max(
      0,
      choices.findIndex(({ length }) => length > 1),
    );
    yield* forEach(choices[several] ?? [], (value) => {
      const combination = key.with(several, ordinalOf(value)).join();
      const group = groups.get(combination) ?? { values: firsts.with(several, value), records: [] };
      if (group.records.push(row) === 1) {
        groups.set(combination, group);
        bytes += (by.length + 3) * STATISTIC_BYTES;
      }
      const taken = bytes;
      bytes = 0;
      return taken;
    });
  }
  const inOrder = yield* sorted(
    [...groups.values()],
    (one, other) => other.records.length - one.records.length,
  );
  return yield* makeEach(inOrder, function* ({ values, records }) {
    yield;
    return { values, count: records.length, records };
  });
}

/** Converts a number or a boolean to a finite number: true is 1, false is 0. Returns null for any other value. */
const numberOf = (value: unknown): number | null =>
  typeof value === "boolean" ? Number(value) : finite(value);

const measured = (row: Row, metric: string): number | null => finite(valueAt(row.last_metric, metric));

/** Correlates a metric with each numeric parameter. Returns the strongest correlation first. */
export function* importanceOf(columns: readonly Column[], rows: readonly Row[], metric: string) {
  const measures: (number | null)[] = [];
  yield* forEach(rows, (row) => void measures.push(measured(row, metric)));
  const all = yield* makeEach(columns, function* ({ name, values, rows: indexes }) {
    const [xs, ys]: [number[], number[]] = [[], []];
    yield* forEach(values, (value, position) => {
      const x = numberOf(value);
      const y = measures[indexes[position] ?? 0] ?? null;
      if (x === null || y === null) return;
      xs.push(x);
      ys.push(y);
    });
    return xs.length === 0 ? null : { name, count: xs.length, correlation: rankCorrelation(xs, ys) };
  });
  return yield* sorted(
    all,
    (one, other) => Math.abs(other.correlation ?? 0) - Math.abs(one.correlation ?? 0),
  );
}

/**
 * Returns the index of the row with the best value, the first one of equal values; null if no row has a finite value. `ASC`: the smallest
 * value is best.
 */
export function* bestOf(
  rows: readonly Row[],
  metric: string,
  direction: "ASC" | "DESC",
): CooperativeTask<number | null> {
  let [best, least]: [number | null, number] = [null, Number.POSITIVE_INFINITY];
  yield* forEach(rows, (row, index) => {
    const value = measured(row, metric);
    const rank = value !== null && direction === "DESC" ? -value : value;
    if (rank !== null && rank < least) [best, least] = [index, rank];
  });
  return best;
}
