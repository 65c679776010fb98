import type { MetricRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf, shown } from "../core/fields.ts";
import { Experiment } from "../core/refs.ts";
import { load } from "../core/resource.ts";
import type { Context, Steps } from "../core/context.ts";
import { MetricValue, metricPages, namedValues } from "../types/metrics.ts";
import { builtTable, type Column } from "../types/series.ts";
import { Moments, told } from "./statistics.ts";

type ExperimentResource = typeof Experiment.$inferType;

/** A value of a metric of a run. */
interface Point {
  readonly run: ExperimentResource;
  readonly name: string;
  readonly step: number;
  readonly value: number;
  readonly record: MetricRecord;
}

interface Summary {
  readonly name: string;
  readonly count: number;
  readonly leftOut: number;
  readonly mean: number | null;
  readonly first: Point | null;
  readonly last: Point | null;
  readonly min: Point | null;
  readonly max: Point | null;
}

const MetricPoint = builder.objectRef<Point>("MetricPoint").implement({
  description: "A value of a metric, when it was recorded, and what was recorded with it.",
  fields: (t) => ({
    value: t.float({ nullable: false, description: "Value: a finite number.", ...shown("value") }),
    step: t.int({
      nullable: false,
      description: "Index among all values of the metric in its run, from 0, as `MetricSeries.steps` has it.",
      ...shown("step"),
    }),
    recordedAt: t.field({
      type: "DateTime",
      description: "Time of the recording.",
      resolve: ({ record }) => record.created_at ?? null,
    }),
    secondsSinceStart: t.float({
      description: "Seconds from the start of the run. Null if the run has no start, or the record no time.",
      resolve: async ({ run, record: { created_at } }, _, { session }) => {
        const { started_at } = await load(run, ["started_at"], session);
        return created_at && started_at
          ? told((Date.parse(created_at) - Date.parse(started_at)) / 1_000)
          : null;
      },
    }),
    others: t.field({
      type: [MetricValue],
      nullable: false,
      description: "The other values of its record, ordered by name.",
      resolve: ({ record, name }) => namedValues(record.values, null).filter((value) => value.name !== name),
    }),
  }),
});

const MetricSummary = builder.objectRef<Summary>("MetricSummary").implement({
  description: "One metric over a whole run. What is no finite number is left out, and counted.",
  fields: (t) => ({
    name: t.string({ nullable: false, description: "Name of the metric.", ...shown("name") }),
    count: t.int({ nullable: false, description: "Number of finite values.", ...shown("count") }),
    leftOut: t.int({
      nullable: false,
      description: "Number of values that are no finite numbers: `NaN`, texts, objects.",
      ...shown("leftOut"),
    }),
    first: t.field({
      type: MetricPoint,
      description: "First value, in the order of the service.",
      ...shown("first"),
    }),
    last: t.field({ type: MetricPoint, description: "Last value.", ...shown("last") }),
    min: t.field({
      type: MetricPoint,
      description: "Smallest value; of equal ones the first.",
      ...shown("min"),
    }),
    max: t.field({
      type: MetricPoint,
      description: "Largest value; of equal ones the first.",
      ...shown("max"),
    }),
    mean: t.float({ description: "Mean. Null if there is no finite value.", ...shown("mean") }),
  }),
});

/** Memory of a summary with its points, counted as bytes of JSON. */
const SUMMARY_BYTES = 300;

/** Summarizes all metric records of a run, in steps. */
function* summariesOf(
  run: ExperimentResource,
  pages: readonly (readonly MetricRecord[])[],
  names: readonly string[] | null | undefined,
): Steps<Summary[]> {
  const table = yield* builtTable(pages);
  const summaries: Summary[] = [];
  for (const [name, column] of table.columns(names)) {
    yield SUMMARY_BYTES;
    summaries.push(summaryOf(run, name, column));
  }
  return summaries;
}

function summaryOf(run: ExperimentResource, name: string, { values, points, records }: Column): Summary {
  const moments = new Moments();
  let [min, max] = [points[0], points[0]];
  for (const step of points) {
    const value = values[step] ?? 0;
    moments.add(value);
    if (value < (values[min ?? 0] ?? 0)) min = step;
    if (value > (values[max ?? 0] ?? 0)) max = step;
  }
  const pointAt = (step: number | undefined): Point | null => {
    const value = step === undefined ? null : values[step];
    const record = step === undefined ? null : records[step];
    return step === undefined || value == null || !record ? null : { run, name, step, value, record };
  };
  return {
    name,
    count: points.length,
    leftOut: values.length - points.length,
    mean: points.length > 0 ? told(moments.mean) : null,
    first: pointAt(points[0]),
    last: pointAt(points.at(-1)),
    min: pointAt(min),
    max: pointAt(max),
  };
}

const { child } = fieldsOf(Experiment.kind);

builder.objectField(Experiment, "metricSummaries", (t) =>
  t.field({
    type: [MetricSummary],
    description:
      "Each metric over the whole run, ordered by name. Reads all metric records, as `metricSeries` does: those of all runs of a group by one request, where the server has it.",
    args: {
      names: t.arg.stringList({ description: "Names of the metrics to return. Absent ones are left out." }),
    },
    ...child(
      async (
        run: ExperimentResource,
        { names }: { readonly names?: readonly string[] | null | undefined },
        context: Context,
      ) => {
        const pages: (readonly MetricRecord[])[] = [];
        for await (const page of metricPages(run, context)) pages.push(page);
        return context.once(pages[0] ?? pages, ["summaries", names], () => summariesOf(run, pages, names));
      },
    ),
  }),
);
