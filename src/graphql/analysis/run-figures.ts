import { valueAt } from "../../rest/api/record.ts";
import type { Steps } from "../core/context.ts";
import { type DeclarationValue, declared } from "../types/experiment.ts";
import { finite } from "../types/series.ts";
import { type RunStatus, statusOf } from "../types/status.ts";
import { type Row, RunTable, STRIDE } from "./run-table.ts";
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
  readonly table: RunTable;
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

export function* statusesOf({ rows }: Pick<RunTable, "rows">): Steps<StatusCount[]> {
  const counts = new Map<RunStatus, number>();
  for (const [index, { last_status }] of rows.entries()) {
    if (index % STRIDE === STRIDE - 1) yield;
    const status = statusOf(last_status);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return countedOf(counts).map(([status, count]) => ({ status, count }));
}

/** The parameters of runs, in order of their names: those that differ, or all. */
export function* parametersIn(
  table: RunTable,
  { onlyDifferences }: { readonly onlyDifferences: boolean },
): Steps<ParameterValues[]> {
  const found: ParameterValues[] = [];
  let [seen, made] = [0, 0];
  for (const { name, values } of yield* table.parameters()) {
    const counts = new Map<string, { readonly value: unknown; count: number }>();
    const numbers = new Moments();
    made += FIGURE_BYTES;
    for (const value of values) {
      if (++seen % STRIDE === 0) {
        yield made;
        made = 0;
      }
      const number = finite(value);
      if (number !== null) numbers.add(number);
      const key = JSON.stringify(value);
      const known = counts.get(key);
      if (known) known.count++;
      else {
        counts.set(key, { value, count: 1 });
        made += FIGURE_BYTES + key.length;
      }
    }
    if (onlyDifferences && counts.size === 1 && values.length === table.rows.length) continue;
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

/** Statistics of the latest values of metrics, in order of their names: of these, or of all. */
export function* statisticsOf(
  table: RunTable,
  wanted: readonly string[] | null | undefined,
): Steps<MetricStatistics[]> {
  const names = wanted ? new Set(wanted) : null;
  const all: MetricStatistics[] = [];
  let [seen, made] = [0, 0];
  for (const { name, values } of yield* table.metrics()) {
    if (names && !names.has(name)) continue;
    const moments = new Moments();
    const numbers: number[] = [];
    made += FIGURE_BYTES;
    for (const value of values) {
      if (++seen % STRIDE === 0) {
        yield made;
        made = 0;
      }
      const number = finite(value);
      if (number === null) continue;
      moments.add(number);
      numbers.push(number);
    }
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
export function* groupsOf({ rows }: RunTable, by: readonly string[]): Steps<RunGroupFigures[]> {
  const groups = new Map<string, { readonly values: readonly unknown[]; readonly rows: Row[] }>();
  let [seen, made] = [0, 0];
  for (const row of rows) {
    let combinations: readonly (readonly unknown[])[] = [[]];
    for (const name of by) {
      const values = valuesBy(name, row);
      combinations = combinations.flatMap((before) => values.map((value) => [...before, value]));
    }
    for (const values of combinations) {
      if (++seen % STRIDE === 0) {
        yield made;
        made = 0;
      }
      const key = JSON.stringify(values.map((value) => (value === undefined ? value : [value])));
      const group = groups.get(key) ?? { values, rows: [] };
      if (group.rows.push(row) === 1) {
        groups.set(key, group);
        made += (by.length + 3) * FIGURE_BYTES + key.length;
      }
    }
  }
  return [...groups.values()]
    .toSorted((one, other) => other.rows.length - one.rows.length)
    .map(({ values, rows: own }) => ({
      values: declared(by, (_name, index) => values[index]),
      table: new RunTable(own),
    }));
}

/** A number, or what stands for one. */
const numberOf = (value: unknown): number | null =>
  typeof value === "boolean" ? Number(value) : finite(value);

/** The latest value of a metric in a row, where it is a finite number. */
const measured = (row: Row, metric: string): number | null => finite(valueAt(row.last_metric, metric));

/** How a metric goes with each parameter that has numbers, the strongest first. */
export function* importanceOf(table: RunTable, metric: string): Steps<ParameterImportance[]> {
  const all: ParameterImportance[] = [];
  let seen = 0;
  for (const { name, values, rows: indexes } of yield* table.parameters()) {
    const [xs, ys]: [number[], number[]] = [[], []];
    for (const [place, value] of values.entries()) {
      if (++seen % STRIDE === 0) yield;
      const x = numberOf(value);
      const y = x === null ? null : measured(table.rows[indexes[place] ?? 0] ?? {}, metric);
      if (x === null || y === null) continue;
      xs.push(x);
      ys.push(y);
    }
    if (xs.length > 0) all.push({ name, count: xs.length, correlation: rankCorrelation(xs, ys) });
  }
  return all.toSorted((one, other) => Math.abs(other.correlation ?? 0) - Math.abs(one.correlation ?? 0));
}

/** The index of the row with the smallest or largest value, the first of equal ones; null when none has a finite one. */
export function* bestOf({ rows }: RunTable, metric: string, direction: "ASC" | "DESC"): Steps<number | null> {
  let best: { readonly index: number; readonly value: number } | null = null;
  for (const [index, row] of rows.entries()) {
    if (index % STRIDE === STRIDE - 1) yield;
    const value = measured(row, metric);
    if (value === null) continue;
    if (!best || (direction === "ASC" ? value < best.value : value > best.value)) best = { index, value };
  }
  return best?.index ?? null;
}
