import { valueAt } from "../../rest/api/record.ts";
import { forEach, type Steps } from "../core/context.ts";
import { type DeclarationValue, declared } from "../types/experiment.ts";
import { finite } from "../types/series.ts";
import { type RunStatus, statusOf } from "../types/status.ts";
import type { Column, Row } from "./run-table.ts";
import { medianOf, Moments, rankCorrelation } from "./statistics.ts";

/** Statistics of a metric over runs. */
export interface MetricStatistics {
  readonly name: string;
  readonly count: number;
  readonly leftOut: number;
  readonly mean: number | null;
  readonly standardDeviation: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly median: number | null;
}

/** The values of a parameter over runs. */
export interface ParameterValues {
  readonly name: string;
  /** Number of runs that have it. */
  readonly count: number;
  /** The different values, the most frequent first. */
  readonly values: readonly { readonly value: unknown; readonly count: number }[];
  readonly min: number | null;
  readonly max: number | null;
}

export interface RunGroupFigures {
  readonly values: readonly DeclarationValue[];
  /** Its runs. */
  readonly rows: readonly Row[];
}

export interface StatusCount {
  readonly status: RunStatus;
  readonly count: number;
}

export interface ParameterImportance {
  readonly name: string;
  readonly count: number;
  readonly correlation: number | null;
}

/** Memory of a figure, counted as bytes of JSON. */
const FIGURE_BYTES = 100;

/** How many there are of each, the most frequent first; of equal counts the first one first. */
const countedOf = <Key>(counts: ReadonlyMap<Key, number>) =>
  [...counts].toSorted(([, one], [, other]) => other - one);

export function* statusesOf(rows: readonly Row[]): Steps<StatusCount[]> {
  const counts = new Map<RunStatus, number>();
  yield* forEach(rows, ({ last_status }) => {
    const status = statusOf(last_status);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  });
  return countedOf(counts).map(([status, count]) => ({ status, count }));
}

/** The parameters of so many runs: those that differ, or all. */
export function* parametersIn(
  columns: readonly Column[],
  { runs, onlyDifferences }: { readonly runs: number; readonly onlyDifferences: boolean },
): Steps<ParameterValues[]> {
  const found: ParameterValues[] = [];
  for (const { name, values } of columns) {
    yield FIGURE_BYTES;
    const counts = new Map<string, { readonly value: unknown; count: number }>();
    const numbers = new Moments();
    yield* forEach(values, (value) => {
      const number = finite(value);
      if (number !== null) numbers.add(number);
      const key = JSON.stringify(value);
      const known = counts.get(key) ?? { value, count: 0 };
      if (known.count++ > 0) return 0;
      counts.set(key, known);
      return FIGURE_BYTES + key.length;
    });
    if (onlyDifferences && counts.size === 1 && values.length === runs) continue;
    found.push({
      name,
      count: values.length,
      values: [...counts.values()].toSorted((one, other) => other.count - one.count),
      ...rangeOf(numbers),
    });
  }
  return found;
}

const rangeOf = ({ count, min, max }: Moments) => (count > 0 ? { min, max } : { min: null, max: null });

/** Statistics of the latest values of metrics: of these, or of all. */
export function* statisticsOf(
  columns: readonly Column[],
  wanted: readonly string[] | null | undefined,
): Steps<MetricStatistics[]> {
  const names = wanted ? new Set(wanted) : null;
  const all: MetricStatistics[] = [];
  for (const { name, values } of columns) {
    if (names && !names.has(name)) continue;
    yield FIGURE_BYTES;
    const moments = new Moments();
    const numbers: number[] = [];
    yield* forEach(values, (value) => {
      const number = finite(value);
      if (number === null) return;
      moments.add(number);
      numbers.push(number);
    });
    const { count } = moments;
    all.push({
      name,
      count,
      leftOut: values.length - count,
      mean: moments.mean(),
      standardDeviation: moments.standardDeviation(),
      ...rangeOf(moments),
      median: medianOf(numbers),
    });
  }
  return all;
}

/** What runs are grouped by besides parameters: the values of a run, of which it is counted under each. */
const KEYS: Readonly<Record<string, (row: Row) => readonly unknown[]>> = {
  status: ({ last_status }) => [statusOf(last_status)],
  user: ({ user }) => [user ?? null],
  group: ({ experiment_group }) => [experiment_group ?? null],
  tag: ({ tags }) => (tags && tags.length > 0 ? tags : [null]),
};

/** The prefix of a parameter whose name is one of those keys. */
const PARAMETER = "param.";

function valuesBy(name: string, row: Row): readonly unknown[] {
  const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined;
  if (key) return key(row);
  return [valueAt(row.declarations, name.startsWith(PARAMETER) ? name.slice(PARAMETER.length) : name)];
}

/** One row for each combination of values, the most frequent first. */
export function* groupsOf(rows: readonly Row[], by: readonly string[]): Steps<RunGroupFigures[]> {
  const groups = new Map<string, { readonly values: readonly unknown[]; readonly rows: Row[] }>();
  for (const row of rows) {
    let combinations: readonly (readonly unknown[])[] = [[]];
    for (const name of by) {
      const values = valuesBy(name, row);
      combinations = combinations.flatMap((before) => values.map((value) => [...before, value]));
    }
    yield* forEach(combinations, (values) => {
      const key = JSON.stringify(values.map((value) => (value === undefined ? value : [value])));
      const group = groups.get(key) ?? { values, rows: [] };
      if (group.rows.push(row) > 1) return 0;
      groups.set(key, group);
      return (by.length + 3) * FIGURE_BYTES + key.length;
    });
  }
  return [...groups.values()]
    .toSorted((one, other) => other.rows.length - one.rows.length)
    .map(({ values, rows: own }) => ({ values: declared(by, (_name, index) => values[index]), rows: own }));
}

/** A number, or what stands for one. */
const numberOf = (value: unknown): number | null =>
  typeof value === "boolean" ? Number(value) : finite(value);

/** The latest value of a metric in a row, where it is a finite number. */
const measured = (row: Row, metric: string): number | null => finite(valueAt(row.last_metric, metric));

/** How a metric goes with each parameter that has numbers, the strongest first. */
export function* importanceOf(
  columns: readonly Column[],
  rows: readonly Row[],
  metric: string,
): Steps<ParameterImportance[]> {
  const all: ParameterImportance[] = [];
  for (const { name, values, rows: indexes } of columns) {
    const [xs, ys]: [number[], number[]] = [[], []];
    yield* forEach(values, (value, place) => {
      const x = numberOf(value);
      const y = x === null ? null : measured(rows[indexes[place] ?? 0] ?? {}, metric);
      if (x === null || y === null) return;
      xs.push(x);
      ys.push(y);
    });
    if (xs.length > 0) all.push({ name, count: xs.length, correlation: rankCorrelation(xs, ys) });
  }
  return all.toSorted((one, other) => Math.abs(other.correlation ?? 0) - Math.abs(one.correlation ?? 0));
}

/** The index of the row with the smallest or largest value, the first of equal ones; null when none has a finite one. */
export function* bestOf(
  rows: readonly Row[],
  metric: string,
  direction: "ASC" | "DESC",
): Steps<number | null> {
  const best: { index: number | null; value: number } = { index: null, value: 0 };
  yield* forEach(rows, (row, index) => {
    const value = measured(row, metric);
    if (value === null) return;
    const isBetter = direction === "ASC" ? value < best.value : value > best.value;
    if (best.index === null || isBetter) Object.assign(best, { index, value });
  });
  return best.index;
}
