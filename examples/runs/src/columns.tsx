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

/** The metric, or another value, of the runs of a group. */
export interface Spread {
  /** Of numbers; undefined of other values that differ. */
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

/** The value that all runs of a group share, or how many values they have. */
function sharedOf(values: readonly unknown[]): Spread {
  const [first, ...others] = new Set(values.map(textOf));
  return others.length > 0
    ? { value: undefined, words: `${others.length + 1} values` }
    : { value: values[0], words: first ?? "" };
}

const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);

const comparable = (value: unknown) =>
  typeof value === "object" && value !== null && "words" in value && "value" in value ? value.value : value;

/** Numbers by size, all else as text. */
function compare(one: Row<typeof features, Run>, other: Row<typeof features, Run>, id: string): number {
  const [a, b] = [comparable(one.getValue(id)), comparable(other.getValue(id))];
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : textOf(a).localeCompare(textOf(b), "en", { numeric: true });
}

/** Times by which the service sorts. */
const TIMES = [
  ["created", "createdAt", "CREATED_AT"],
  ["started", "startedAt", "STARTED_AT"],
  ["finished", "finishedAt", "FINISHED_AT"],
  ["last changed", "updatedAt", "UPDATED_AT"],
] as const satisfies readonly (readonly [string, keyof Run, RunOrderField])[];

/** The order in which the service sends the runs. Null: it does not have this one, and the page itself sorts. */
export function serverOrderOf(sort: string | undefined): RunOrder | null {
  const [, descending, id = "created"] = /^(-?)(.+)$/.exec(sort ?? "-created") ?? [];
  const direction = descending ? "DESC" : "ASC";
  const time = TIMES.find(([name]) => name === id);
  if (time) return { by: { field: time[2] }, direction };
  return id.startsWith("metric.") ? { by: { metric: id.slice("metric.".length) }, direction } : null;
}

/** The best first: descending, unless smaller values of the metric are better. */
export const firstOrderOf = (id: string) =>
  TIMES.some(([name]) => name === id) || (id.startsWith("metric.") && !isSmallerBetter(id)) ? `-${id}` : id;

/** The name of a column in its heading. */
export const labelOf = (id: string) => id.replace(/^(?:parameter|metric)\./, "");

const helper = createColumnHelper<typeof features, Run>();

interface Kind {
  readonly valueOf: (run: Run) => unknown;
  readonly cell?: (run: Run) => ReactNode;
  /** Numbers of which a group shows mean and spread. */
  readonly inWords?: (value: number) => string;
  readonly size?: number;
}

const date = (key: (typeof TIMES)[number][1]): Kind => ({
  valueOf: (run) => run[key],
  cell: (run) => (run[key] ? <Moment at={run[key]} /> : "–"),
  size: 180,
});

/** The columns that each run has. */
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

/** The columns of a table by their ids. */
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

/** Parameters that have a column without having been chosen. */
const USUAL = 12;

/** The ids of the columns that there are, and of those that are shown in their order. */
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
