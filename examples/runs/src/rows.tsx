import type { ReactNode } from "react";
import type { Address } from "./address.ts";
import { inDigits } from "./curve.ts";
import { Duration } from "./duration.tsx";
import { Moment } from "./fact.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import type { RunOrder, RunsFragment } from "./generated/graphql.ts";
import { Image } from "./image.tsx";
import { Moving } from "./moving.tsx";
import { parametersOf, textOf } from "./parameters.ts";
import { bestOf, directionOf, type OwnOrder, ownOrderIn } from "./sort.ts";
import { Status } from "./status.tsx";
import { extremesOf } from "./values.ts";
import { hiddenIn, valuesIn } from "./view.ts";

const runRowFragment = graphql(`
  fragment RunRow on Experiment {
    id
    uniqueName
    createdAt
    startedAt
    finishedAt
    updatedAt
    isFinished
    isBookmarked
    status
    durationSeconds
    tags
    parameters {
      name
      value
    }
    latestMetrics {
      name
      value
    }
    ...Status
    ...Duration
  }
`);

/** Runs as the table shows them. */
export const rowsOf = (nodes: RunsFragment["nodes"]) =>
  readFragment(runRowFragment, nodes as readonly FragmentType<typeof runRowFragment>[]).map((run, at) => ({
    ...run,
    later: nodes[at] ?? null,
    parameters: parametersOf(run.parameters),
    metrics: Object.fromEntries((run.latestMetrics ?? []).map(({ name, value }) => [name, value])),
    extremes: extremesOf(nodes[at] ?? null),
  }));

export type Row = ReturnType<typeof rowsOf>[number];

/** The value of a run by which this page itself sorts. */
export function ownValueOf(run: Row, { of, name }: OwnOrder): unknown {
  if (of === "parameter") return run.parameters[name];
  if (of === "run") return name === "duration" ? run.durationSeconds : run.status;
  return run.extremes[name]?.[of];
}

/** The column of the tags, where a run has some. */
const TAGS = "tags";

/** The column of the date by which a list is sorted. */
const DATES = [
  { field: "CREATED_AT", word: "created", key: "createdAt" },
  { field: "UPDATED_AT", word: "last changed", key: "updatedAt" },
  { field: "STARTED_AT", word: "started", key: "startedAt" },
  { field: "FINISHED_AT", word: "finished", key: "finishedAt" },
] as const;

const tagsOf = (run: Row) => run.tags?.join(", ");

export interface Column {
  readonly label: string;
  readonly className?: string;
  /** The order that the heading sorts by. */
  readonly by?: string;
  readonly direction?: "ascending" | "descending" | undefined;
  readonly cell: (run: Row) => ReactNode;
  /** The full text, for cells whose text is cut. */
  readonly title?: (run: Row) => string | undefined;
}

const namesIn = (records: readonly object[]) => [
  ...new Set(records.flatMap((record) => Object.keys(record))),
];

/** The columns after the name of a run, and the names of the columns that can be hidden. */
export function columnsOf(runs: readonly Row[], order: RunOrder, address: Address) {
  const hidden = hiddenIn(address);
  const parameters = namesIn(runs.map((run) => run.parameters));
  const metrics = namesIn(runs.map((run) => run.metrics)).toSorted();
  const tags = runs.some((run) => run.tags && run.tags.length > 0) ? [TAGS] : [];
  const isShown = (name: string) => !hidden.includes(name);
  const when = address.sort ? DATES.find(({ field }) => field === order.by.field) : undefined;
  const own = ownOrderIn(address.sort);

  /** A column that is sorted by this page and not by the service. */
  const ownBy = (of: OwnOrder["of"], name: string) => ({
    by: `${of}.${name}`,
    direction:
      own?.of === of && own.name === name
        ? directionOf({ direction: own.isDescending ? "DESC" : "ASC" })
        : undefined,
  });
  const metricColumns = (name: string): readonly Column[] => [
    {
      label: name,
      className: "metric",
      by: name,
      direction: name === order.by.metric ? directionOf(order) : undefined,
      cell: (run) => <Moving value={inDigits(run.metrics[name] ?? null)} />,
    },
    ...valuesIn(address).map((value): Column => {
      const of = value === "best" ? bestOf(name) : value;
      return {
        label: `${value} ${name}`,
        className: "metric",
        ...ownBy(of, name),
        cell: (run) => inDigits(run.extremes[name]?.[of]),
      };
    }),
  ];
  const dateColumn = ({ word, key }: (typeof DATES)[number]): Column => ({
    label: word,
    direction: directionOf(order),
    cell: (run) => (run[key] ? <Moment at={run[key] ?? ""} /> : "–"),
  });
  const columns: readonly Column[] = [
    { label: "status", ...ownBy("run", "status"), cell: (run) => <Status of={run} /> },
    ...parameters.filter(isShown).map((name): Column => {
      const text = (run: Row) => textOf(run.parameters[name]);
      return { label: name, className: "parameter", ...ownBy("parameter", name), cell: text, title: text };
    }),
    ...metrics.filter(isShown).flatMap(metricColumns),
    ...tags.filter(isShown).map((label) => ({ label, className: "parameter", cell: tagsOf, title: tagsOf })),
    ...(when && !own ? [dateColumn(when)] : []),
    { label: "duration", ...ownBy("run", "duration"), cell: (run) => <Duration of={run} /> },
    { label: "image", className: "image", cell: (run) => run.later && <Image of={run.later} /> },
  ];
  return { columns, metrics, names: [...parameters, ...metrics, ...tags] };
}
