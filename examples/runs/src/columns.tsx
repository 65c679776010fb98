import {
  constructAggregationFn,
  createColumnHelper,
  createExpandedRowModel,
  createGroupedRowModel,
  createSortedRowModel,
  type Row,
  stockFeatures,
  tableFeatures,
} from "@tanstack/react-table";
import type { ReactNode } from "react";
import { type Address, partsOf } from "./address.ts";
import { clock, inDigits, isSmallerBetter, textOf } from "./format.ts";
import type { RunOrder, RunOrderField } from "./generated/graphql.ts";
import { Moment } from "./parts.tsx";
import { Status } from "./status.tsx";
import type { Run } from "./use-runs.ts";

export const features = tableFeatures({
  ...stockFeatures,
  expandedRowModel: createExpandedRowModel(),
  groupedRowModel: createGroupedRowModel(),
  sortedRowModel: createSortedRowModel(),
});

/** The summary of a column for a group of runs. */
export interface Spread {
  /** The mean of numbers, or the shared value. Undefined if other values differ. */
  readonly value: unknown;
  readonly words: string;
}

/** Mean and standard deviation of a sample (divided by n − 1). */
function spreadOf(numbers: readonly number[], inWords: (value: number) => string): Spread | undefined {
  const count = numbers.length;
  if (count === 0) return undefined;
  const mean = numbers.reduce((sum, each) => sum + each, 0) / count;
  const squares = numbers.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  const deviation = count > 1 ? ` ± ${inWords(Math.sqrt(squares / (count - 1)))}` : "";
  return { value: mean, words: `${inWords(mean)}${deviation}` };
}

/** The value that all runs of a group share, or the number of different values. */
function sharedOf(values: readonly unknown[]): Spread {
  const [first, ...others] = new Set(values.map(textOf));
  return others.length > 0
    ? { value: undefined, words: `${others.length + 1} values` }
    : { value: values[0], words: first ?? "" };
}

const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);

const comparable = (value: unknown) =>
  typeof value === "object" && value !== null && "words" in value && "value" in value ? value.value : value;

/** Compares numbers by size, and everything else as text. */
function compare(one: Row<typeof features, Run>, other: Row<typeof features, Run>, id: string): number {
  const [a, b] = [comparable(one.getValue(id)), comparable(other.getValue(id))];
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : textOf(a).localeCompare(textOf(b), "en", { numeric: true });
}

/** Times by which the service can sort. */
const TIMES = [
  ["created", "createdAt", "CREATED_AT"],
  ["started", "startedAt", "STARTED_AT"],
  ["finished", "finishedAt", "FINISHED_AT"],
  ["last changed", "updatedAt", "UPDATED_AT"],
] as const satisfies readonly (readonly [string, keyof Run, RunOrderField])[];

/** The order for the service to sort the runs by. Null: the service cannot sort like this, and the page does. */
export function serverOrderOf(sort: string | undefined): RunOrder | null {
  const [, descending, id = "created"] = /^(-?)(.+)$/.exec(sort ?? "-created") ?? [];
  const direction = descending ? "DESC" : "ASC";
  const time = TIMES.find(([name]) => name === id);
  if (time) return { by: { field: time[2] }, direction };
  return id.startsWith("metric.") ? { by: { metric: id.slice("metric.".length) }, direction } : null;
}

/** The order after the first click on a column: newest or best first for times and metrics, ascending for others. */
export const firstOrderOf = (id: string) =>
  TIMES.some(([name]) => name === id) || (id.startsWith("metric.") && !isSmallerBetter(id)) ? `-${id}` : id;

export const labelOf = (id: string) => id.replace(/^(?:parameter|metric)\./, "");

const helper = createColumnHelper<typeof features, Run>();

interface Kind {
  readonly valueOf: (run: Run) => unknown;
  readonly cell?: (run: Run) => ReactNode;
  /** Formats numbers, for a column whose groups show mean and deviation. */
  readonly inWords?: (value: number) => string;
  readonly size?: number;
}

const date = (key: (typeof TIMES)[number][1]): Kind => ({
  valueOf: (run) => run[key],
  cell: (run) => (run[key] ? <Moment at={run[key]} /> : "–"),
  size: 180,
});

/** Columns that every run has. */
const PROPERTIES: Readonly<Record<string, Kind>> = {
  status: { valueOf: ({ status }) => status.toLowerCase(), cell: (run) => <Status of={run} />, size: 132 },
  duration: {
    valueOf: (run) => run.durationSeconds,
    cell: (run) => clock(run.durationSeconds),
    inWords: clock,
  },
  tags: { valueOf: ({ tags }) => tags?.toSorted().join(", ") || undefined, size: 150 },
  user: { valueOf: ({ user }) => user?.username },
  group: { valueOf: ({ experimentGroup }) => experimentGroup?.uniqueName, size: 140 },
  name: { valueOf: ({ name }) => name, size: 140 },
  description: { valueOf: ({ description }) => description, size: 220 },
  ...Object.fromEntries(TIMES.map(([name, key]) => [name, date(key)])),
};

function kindOf(id: string): Kind {
  const name = labelOf(id);
  if (id.startsWith("metric."))
    return {
      valueOf: ({ metrics }) => metrics[name],
      cell: ({ metrics }) => inDigits(metrics[name]),
      inWords: inDigits,
      size: 156,
    };
  return PROPERTIES[id] ?? { valueOf: ({ parameters }) => parameters[name] };
}

/** Creates the columns of a table from their ids. */
export const columnsOf = (ids: readonly string[]) =>
  helper.columns(
    ids.map((id) => {
      const { valueOf, cell, inWords, size = 116 } = kindOf(id);
      return helper.accessor((run) => valueOf(run) ?? undefined, {
        id,
        size,
        header: labelOf(id),
        cell: ({ row, getValue }) => (cell ? cell(row.original) : textOf(getValue())),
        aggregationFn: constructAggregationFn({
          aggregate: ({ rows, getValue }) => {
            const values = rows.map(getValue);
            return inWords ? spreadOf(values.filter(isNumber) as number[], inWords) : sharedOf(values);
          },
        }),
        getGroupingValue: (run) => textOf(valueOf(run)),
        sortFn: compare,
        sortUndefined: "last",
      });
    }),
  );

const namesIn = (records: readonly object[]) => [
  ...new Set(records.flatMap((record) => Object.keys(record))),
];

/** Maximum number of parameters that have a column by default. */
const USUAL = 12;

/** The ids of all columns, the ids of the shown ones in order, and the names of all metrics. */
export function idsOf(runs: readonly Run[], { columns, sort = "", group }: Address) {
  const parameters = namesIn(runs.map((run) => run.parameters)).map((name) => `parameter.${name}`);
  const metrics = namesIn(runs.map((run) => run.metrics))
    .toSorted()
    .map((name) => `metric.${name}`);
  const tags = runs.some((run) => run.tags?.length) ? ["tags"] : [];
  const usual = ["status", ...parameters.slice(0, USUAL), ...metrics, ...tags, "duration"];
  const chosen = columns === undefined ? usual : partsOf(columns);
  const sorted = sort.replace(/^-/, "");
  const shown = [...new Set([...chosen, ...(sorted ? [sorted] : []), ...partsOf(group)])];
  const all = [...new Set([...shown, ...Object.keys(PROPERTIES), ...parameters, ...metrics])];
  return { all, shown, metrics: metrics.map(labelOf) };
}
