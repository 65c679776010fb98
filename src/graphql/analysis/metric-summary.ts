import { builder, objectType, exposed, exposedOrNull } from "../core/builder.ts";
import { forEach, type ResultOf, makeEach } from "../../util/cooperative-task.ts";
import { fieldsOf } from "../core/fields.ts";
import { Experiment } from "../core/refs.ts";
import { fromColumns, type NamesArgs, namesArg } from "../types/metrics.ts";
import type { SeriesColumn } from "../types/series.ts";
import { Moments } from "./statistics.ts";

type Summary = ResultOf<typeof summariesOf>;

const MetricPoint = objectType<NonNullable<Summary["first"]>>(
  "MetricPoint",
  "A value of a metric in a run.",
  (t) => ({
    value: t.float(exposed("value", "A finite number.")),
    step: t.int(exposed("step", "Index among all values of the metric, as in `MetricSeries.steps`.")),
    recordedAt: t.field({ type: "DateTime", ...exposedOrNull("recordedAt", "Time of the recording.") }),
  }),
);

const MetricSummary = objectType<Summary>("MetricSummary", "One metric over a whole run.", (t) => ({
  name: t.string(exposed("name", "Name of the metric.")),
  count: t.int(exposed("count", "Number of finite values.")),
  leftOut: t.int(exposed("leftOut", "Number of values that are not finite numbers.")),
  first: t.field({ type: MetricPoint, ...exposedOrNull("first", "First value.") }),
  last: t.field({ type: MetricPoint, ...exposedOrNull("last", "Last value.") }),
  min: t.field({ type: MetricPoint, ...exposedOrNull("min", "Smallest; the first of equal ones.") }),
  max: t.field({ type: MetricPoint, ...exposedOrNull("max", "Largest; the first of equal ones.") }),
  mean: t.float(exposedOrNull("mean", "Mean of the finite values.")),
}));

/** Memory of a summary with its points, in charged bytes (`memory-budget.ts`). */
const SUMMARY_BYTES = 300;

const summariesOf = (columns: readonly SeriesColumn[]) =>
  makeEach(columns, function* ({ name, values, points, times }) {
    yield SUMMARY_BYTES;
    const moments = new Moments();
    let [min, max] = [points[0], points[0]];
    yield* forEach(points, (step) => {
      const value = values[step] ?? 0;
      moments.add(value);
      if (value < (values[min ?? 0] ?? 0)) min = step;
      if (value > (values[max ?? 0] ?? 0)) max = step;
    });
    const pointAt = (step: number | undefined) => {
      const value = step === undefined ? null : values[step];
      return step === undefined || value == null ? null : { step, value, recordedAt: times[step] ?? null };
    };
    return {
      name,
      count: points.length,
      leftOut: values.length - points.length,
      mean: moments.mean(),
      first: pointAt(points[0]),
      last: pointAt(points.at(-1)),
      min: pointAt(min),
      max: pointAt(max),
    };
  });

builder.objectField(Experiment, "metricSummaries", (t) =>
  t.field({
    type: [MetricSummary],
    args: namesArg,
    ...fieldsOf(Experiment.kind).child(
      "Each metric over the whole run, by name. Reads all metric records, as `metricSeries` does.",
      (run, { names }: NamesArgs, context) => fromColumns(run, names, ["summaries"], context, summariesOf),
    ),
  }),
);
