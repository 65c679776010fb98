import { InputError } from "../../errors.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import { runs as kinds } from "../../rest/api/kinds.ts";
import {
  arg,
  builder,
  computedFrom,
  enumType,
  flag,
  objectType,
  exposed,
  exposedOrNull,
} from "../core/builder.ts";
import { type WholeList, within } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import type { ResultOf } from "../../util/cooperative-task.ts";
import { Experiment, type ExperimentResource } from "../core/refs.ts";
import { isInRows } from "../types/scan.ts";
import { namesArg } from "../types/metrics.ts";
import { RunStatusEnum } from "../types/status.ts";
import { missingName } from "../types/gateway-order.ts";
import { OrderDirection, runListOf } from "../types/run-list.ts";
import {
  bestOf,
  breakdownOf,
  type ColumnKey,
  columnsOf,
  durationsOf,
  hasName,
  importanceOf,
  parametersIn,
  PROPERTIES,
  type Row,
  statisticsOf,
  statusesOf,
} from "./experiment-statistics.ts";

/* The field `summary` of a list of experiments. Each statistic is computed only when it is selected. */

const MAX_SCAN = 10_000;

const MAX_BREAKDOWN_KEYS = 5;

type Runs = WholeList<ExperimentResource, Row>;

const StatusCount = objectType<ResultOf<typeof statusesOf>>("StatusCount", "Runs with a status.", (t) => ({
  status: t.field({ type: RunStatusEnum, ...exposed("status", "Status.") }),
  count: t.int(exposed("count", "Number of runs.")),
}));

type ParameterValues = ResultOf<typeof parametersIn>;

const ParameterValueCount = objectType<ParameterValues["values"][number]>(
  "ParameterValueCount",
  "Runs with a value.",
  (t) => ({
    value: t.field({ type: "JSON", ...exposedOrNull("value", "Value as received.") }),
    count: t.int(exposed("count", "Number of runs.")),
  }),
);

const ParameterRange = builder.objectRef<ParameterValues>("ParameterRange").implement({
  description: "The values of a parameter over runs.",
  fields: (t) => ({
    name: t.string(exposed("name", "Name of the parameter.")),
    count: t.int(exposed("count", "Number of runs that have it.")),
    distinctCount: t.field(computedFrom("Int", "Number of different values.", ({ values }) => values.length)),
    values: t.field({
      type: [ParameterValueCount],
      nullable: false,
      description: "Different values, the most frequent first.",
      args: {
        first: t.arg.int({ required: true, defaultValue: 20, description: "Maximum number of values." }),
      },
      resolve: ({ values }, { first }) => values.slice(0, within("first", first, { from: 1, to: MAX_SCAN })),
    }),
    min: t.float(exposedOrNull("min", "Smallest number.")),
    max: t.float(exposedOrNull("max", "Largest number.")),
  }),
});

const MetricStatistics = builder.objectRef<ResultOf<typeof statisticsOf>>("MetricStatistics").implement({
  description: "Statistics of a metric's latest values, or of durations, over runs.",
  fields: (t) => ({
    name: t.string(exposed("name", "Name of the metric, or `durationSeconds`.")),
    count: t.int(exposed("count", "Number of runs with a finite value.")),
    leftOut: t.int(exposed("leftOut", "Number of runs whose value is not a finite number.")),
    mean: t.float(exposedOrNull("mean", "Mean.")),
    standardDeviation: t.float(
      exposedOrNull(
        "standardDeviation",
        "Standard deviation of a sample (divided by n − 1); null of fewer than two values.",
      ),
    ),
    min: t.float(exposedOrNull("min", "Smallest value.")),
    max: t.float(exposedOrNull("max", "Largest value.")),
    median: t.float(exposedOrNull("median", "Middle value, or the mean of the middle two.")),
  }),
});

const ParameterImportance = objectType<ResultOf<typeof importanceOf>>(
  "ParameterImportance",
  "How a metric correlates with a parameter.",
  (t) => ({
    name: t.string(exposed("name", "Name of the parameter.")),
    count: t.int(exposed("count", "Number of runs that have both as numbers; a boolean is 0 or 1.")),
    correlation: t.float(
      exposedOrNull("correlation", "Spearman's rank correlation, -1 to 1; null if one of them never varies."),
    ),
  }),
);

/** Throws `GatewayError` if the rows of this server's lists lack one of these keys. */
function requireInRows({ server }: Context, ...keys: readonly (keyof typeof STATISTICS_OF)[]): void {
  const missing = keys.find((key) => !isInRows(server, kinds.experiment.records, key));
  if (missing) throw notOffered(`statistics of ${STATISTICS_OF[missing]} in lists`);
}

/** The statistics that need each record key, as error messages name them. */
const STATISTICS_OF = {
  declarations: "parameters",
  last_metric: "metrics",
  started_at: "durations",
  finished_at: "durations",
} as const;

/**
 * Throws `InputError` for a name that no row has, because the result of a misspelt name would look valid. Accepts any name if there are no
 * rows.
 */
async function requireName(
  { records }: OfRuns,
  key: ColumnKey,
  name: string,
  argument: string,
  context: Context,
): Promise<void> {
  const isFound = await context.memoized(records, ["has", key, name], () => hasName(records, key, name));
  if (isFound || records.length === 0) return;
  const kind = key === "declarations" ? "parameter" : "metric";
  throw missingName(argument, kind, name, records.find((record) => record[key])?.[key]);
}

type OfRuns = Pick<Runs, "records">;

const statuses = (description: string) =>
  computedFrom([StatusCount], description, ({ records }: OfRuns, _: object, context) =>
    context.memoized(records, ["statuses"], () => statusesOf(records)),
  );

async function metricsOf({ records }: OfRuns, names: readonly string[] | null | undefined, context: Context) {
  requireInRows(context, "last_metric");
  const columns = await columnsOf(records, "last_metric", context);
  return context.memoized(records, ["metrics", names], () => statisticsOf(columns, names));
}

const RunProperty = enumType("RunProperty", "A property by which runs are grouped.", PROPERTIES);

const BreakdownKey = builder.inputType("BreakdownKey", {
  description: "A key of a breakdown: a property or a parameter.",
  isOneOf: true,
  fields: (t) => ({
    property: t.field({ type: RunProperty, description: "A property." }),
    parameter: t.string({ description: "Name of a parameter. Runs without it count under null." }),
  }),
});

/** A row of a breakdown. `metrics` has the names in the argument `metrics`. */
interface BreakdownRow extends ResultOf<typeof breakdownOf> {
  readonly metrics: readonly string[] | null | undefined;
}

const Breakdown = objectType<BreakdownRow>(
  "Breakdown",
  "Statistics of the runs with the same values of the given keys.",
  (t) => ({
    values: t.field({
      type: ["JSON"],
      ...exposed("values", "Value of each key, in the order of `by`; null if the runs have none."),
      nullable: { list: false, items: true },
    }),
    count: t.int(exposed("count", "Number of runs.")),
    statuses: t.field(statuses("Their statuses, the most frequent first.")),
    metrics: t.field(
      computedFrom([MetricStatistics], "Their latest metrics, by name.", (row, _, context) =>
        metricsOf(row, row.metrics, context),
      ),
    ),
    durationSeconds: t.field(
      computedFrom(
        MetricStatistics,
        "Their durations, in seconds; of an active run until now. `leftOut` counts those without a known start or end.",
        ({ records }, _, context) => {
          requireInRows(context, "started_at", "finished_at");
          return context.memoized(records, ["durations"], () =>
            durationsOf(records, context.session.upstreamTime()),
          );
        },
      ),
    ),
  }),
);

const ExperimentSummary = objectType<Runs>(
  "ExperimentSummary",
  "Statistics of the experiments of a list.",
  (t) => ({
    scannedRows: t.field(
      computedFrom("Int", "Number of runs that were read.", ({ records }) => records.length),
    ),
    total: t.int(exposedOrNull("total", "Length of the list, as the service counts it.")),
    isComplete: t.boolean(
      exposed(
        "isComplete",
        "Whether all runs were read; false if `maxScannedRows` or a limit stopped the reading.",
      ),
    ),
    statuses: t.field(statuses("Runs by status, the most frequent first.")),
    parameters: t.field({
      type: [ParameterRange],
      description: "Parameters with their values, by name.",
      args: {
        onlyDifferences: flag(true, "Set to false to include those that are the same in all runs."),
      },
      resolve: async ({ records }, { onlyDifferences }, context) => {
        requireInRows(context, "declarations");
        const columns = await columnsOf(records, "declarations", context);
        const options = { runs: records.length, onlyDifferences };
        return context.memoized(records, ["parameters", options], () => parametersIn(columns, options));
      },
    }),
    metrics: t.field({
      type: [MetricStatistics],
      description: "Latest values of each metric, by name.",
      args: namesArg,
      resolve: (runs, { names }, context) => metricsOf(runs, names, context),
    }),
    breakdown: t.field({
      type: [Breakdown],
      description:
        "A row for each combination of values, the most frequent first. Costs no request of its own.",
      args: {
        by: t.arg({
          type: [BreakdownKey],
          required: true,
          description: `1 to ${MAX_BREAKDOWN_KEYS} different keys, such as \`[{ property: USER }, { parameter: "lr" }]\`.`,
        }),
        metrics: t.arg.stringList({ description: "Names of metrics to include. Default: all." }),
      },
      resolve: async ({ records }, { by, metrics }, context) => {
        const different = new Set(by.map((key) => JSON.stringify(key)));
        if (by.length < 1 || by.length > MAX_BREAKDOWN_KEYS || different.size < by.length)
          throw new InputError(
            `by: expected 1 to ${MAX_BREAKDOWN_KEYS} different keys, such as [{ parameter: "lr" }, { property: STATUS }], got ${by.length}`,
          );
        for (const [index, { parameter }] of by.entries()) {
          if (parameter == null) continue;
          requireInRows(context, "declarations");
          await requireName({ records }, "declarations", parameter, `by[${index}].parameter`, context);
        }
        const rows = await context.memoized(records, ["breakdown", by], () => breakdownOf(records, by));
        return rows.map((row) => ({ ...row, metrics }));
      },
    }),
    importance: t.field({
      type: [ParameterImportance],
      description: "How a metric correlates with each numeric parameter, the strongest first.",
      args: { metric: t.arg.string({ required: true, description: "Name of the metric." }) },
      resolve: async ({ records }, { metric }, context) => {
        requireInRows(context, "last_metric", "declarations");
        await requireName({ records }, "last_metric", metric, "metric", context);
        const columns = await columnsOf(records, "declarations", context);
        return context.memoized(records, ["importance", metric], () =>
          importanceOf(columns, records, metric),
        );
      },
    }),
    best: t.field({
      type: Experiment,
      description: "The run with the best latest value of a metric, the earliest of equal ones.",
      args: {
        metric: t.arg.string({ required: true, description: "Name of the metric." }),
        direction: arg.field({
          type: OrderDirection,
          required: true,
          description: "`ASC` if the smallest is best.",
        }),
      },
      resolve: async (runs, { metric, direction }, context) => {
        requireInRows(context, "last_metric");
        await requireName(runs, "last_metric", metric, "metric", context);
        const best = () => bestOf(runs.records, metric, direction);
        const index = await context.memoized(runs.records, ["best", metric, direction], best);
        return index === null ? null : runs.nodeAt(index);
      },
    }),
  }),
);

builder.objectField(runListOf(Experiment.name).type, "summary", (t) =>
  t.field({
    type: ExperimentSummary,
    description:
      "Statistics of all runs of the list, not only this page. Reads the list page by page, one request each.",
    args: {
      maxScannedRows: t.arg.int({
        required: true,
        defaultValue: 1_000,
        description: `Maximum number of runs to read, up to ${MAX_SCAN}.`,
      }),
    },
    resolve: ({ readAll }, { maxScannedRows }) => {
      const most = within("maxScannedRows", maxScannedRows, { from: 1, to: MAX_SCAN });
      if (!readAll) throw new TypeError("expected a list that can be read as a whole");
      // Safe: the list contains experiments.
      return readAll(most) as Promise<Runs>;
    },
  }),
);
