import { runs } from "../../rest/api/kinds.ts";
import {
  GROUP_COUNTERS,
  type GroupRecord,
  type HptuningRecord,
  openHptuning,
} from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, isParameterValue } from "../core/builder.ts";
import { fieldsOf, known, shown } from "../core/fields.ts";
import { Entity, Experiment, Group, Run, Trackable } from "../core/refs.ts";
import { metricsUrl, runsUrl } from "./exports.ts";
import { runList, runListOf } from "./run-list.ts";
import { finite } from "./series.ts";
import { readme } from "./workload.ts";

interface Values {
  readonly values: readonly (string | number | boolean)[];
}
interface Linspace {
  readonly num: number | null;
  readonly start: number | null;
  readonly stop: number | null;
}
interface Other {
  readonly raw: unknown;
}
type Definition = Values | Linspace | Other;

const MatrixValues = builder.objectRef<Values>("MatrixValues").implement({
  description: "A fixed set of values.",
  fields: (t) => ({
    values: t.field({
      type: ["ParameterValue"],
      nullable: false,
      description: "The values.",
      ...shown("values"),
    }),
  }),
});

const MatrixLinspace = builder.objectRef<Linspace>("MatrixLinspace").implement({
  description: "Evenly spaced numbers.",
  fields: (t) => ({
    num: t.exposeInt("num", { nullable: true, description: "Number of values." }),
    start: t.exposeFloat("start", { nullable: true, description: "First number." }),
    stop: t.exposeFloat("stop", { nullable: true, description: "Last number." }),
  }),
});

const MatrixOther = builder.objectRef<Other>("MatrixOther").implement({
  description: "A form that this schema does not know.",
  fields: (t) => ({
    raw: t.field({ type: "JSON", description: "As received.", resolve: ({ raw }) => raw }),
  }),
});

const MatrixDefinition = builder.unionType("MatrixDefinition", {
  description: "Values of a searched parameter. Members can be added in a minor release.",
  types: [MatrixValues, MatrixLinspace, MatrixOther],
  resolveType: (definition) =>
    "values" in definition ? "MatrixValues" : "num" in definition ? "MatrixLinspace" : "MatrixOther",
});

/** One of the documented formats, or the value as received. */
function definitionOf(raw: unknown): Definition {
  if (typeof raw !== "object" || raw === null) return { raw };
  const { values, linspace } = raw as { values?: unknown; linspace?: unknown };
  if (Array.isArray(values) && values.every(isParameterValue)) return { values };
  if (typeof linspace === "object" && linspace !== null && !Array.isArray(linspace)) {
    const { num, start, stop } = linspace as Record<"num" | "start" | "stop", unknown>;
    return {
      num: isInt32(num) ? num : null,
      start: finite(start),
      stop: finite(stop),
    };
  }
  return { raw };
}

const isInt32 = (value: unknown): value is number =>
  Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31;

interface Parameter {
  readonly name: string;
  readonly definition: Definition;
}

const MatrixParameter = builder.objectRef<Parameter>("MatrixParameter").implement({
  description: "A searched parameter.",
  fields: (t) => ({
    name: t.exposeString("name", { nullable: false, description: "Name of the parameter." }),
    definition: t.field({
      type: MatrixDefinition,
      nullable: false,
      description: "Its values.",
      ...shown("definition"),
    }),
  }),
});

const RandomSearch = builder
  .objectRef<NonNullable<HptuningRecord["known"]["random_search"]>>("RandomSearch")
  .implement({
    description: "Settings of a random search.",
    fields: (t) => ({
      experimentCount: t.int({
        description: "Number of experiments.",
        resolve: ({ n_experiments }) => n_experiments ?? null,
      }),
    }),
  });

const HyperparameterTuning = builder.objectRef<HptuningRecord>("HyperparameterTuning").implement({
  description: "Settings of a hyperparameter search.",
  fields: (t) => ({
    earlyStopping: t.field({
      type: "JSON",
      description: "Rules of early stopping.",
      ...known("early_stopping"),
    }),
    concurrency: t.int({ description: "Experiments that may run at a time.", ...known("concurrency") }),
    seed: t.field({ type: "JSON", description: "Random seed.", ...known("seed") }),
    matrix: t.field({
      type: [MatrixParameter],
      description: "Searched parameters, by name.",
      resolve: ({ known: { matrix } }) =>
        matrix
          ? Object.keys(matrix)
              .toSorted()
              .map((name) => ({ name, definition: definitionOf(matrix[name]) }))
          : null,
    }),
    randomSearch: t.field({
      type: RandomSearch,
      description: "Settings of a random search.",
      ...known("random_search"),
    }),
    raw: t.field({ type: "JSON", description: "All of it, as received.", resolve: ({ raw }) => raw }),
  }),
});

const ExperimentCounts = builder
  .objectRef<Partial<Pick<GroupRecord, (typeof GROUP_COUNTERS)[number]>>>("ExperimentCounts")
  .implement({
    description: "Numbers of experiments by state, as the service counts them. They can overlap.",
    fields: (t) => ({
      total: t.exposeInt("num_experiments", { nullable: true, description: "All experiments." }),
      pending: t.exposeInt("num_pending_experiments", { nullable: true, description: "Waiting." }),
      running: t.exposeInt("num_running_experiments", { nullable: true, description: "Running." }),
      scheduled: t.exposeInt("num_scheduled_experiments", { nullable: true, description: "Scheduled." }),
      succeeded: t.exposeInt("num_succeeded_experiments", { nullable: true, description: "Succeeded." }),
      failed: t.exposeInt("num_failed_experiments", { nullable: true, description: "Ended with an error." }),
      stopped: t.exposeInt("num_stopped_experiments", { nullable: true, description: "Stopped." }),
    }),
  });

const { property, computed } = fieldsOf(Group.kind);

/** Source: service document, "Experiment group". */
Group.implement({
  description: "A group of experiments: a hyperparameter search.",
  interfaces: [Entity, Trackable, Run],
  fields: (t) => ({
    groupType: t.string({
      description: "Such as `study` (a search) or `selection` (experiments that somebody chose).",
      ...property("group_type"),
    }),
    readme: t.string(readme),
    concurrency: t.int({ description: "Experiments that may run at a time.", ...property("concurrency") }),
    searchAlgorithm: t.string({ description: "Such as `random`.", ...property("search_algorithm") }),
    currentIteration: t.int({ description: "Iteration of the search.", ...property("current_iteration") }),
    content: t.string({ description: "Its specification as text.", ...property("content") }),
    hptuning: t.field({
      type: HyperparameterTuning,
      description: "Settings of the search.",
      ...computed(["hptuning"], ({ hptuning }) => (hptuning ? openHptuning(hptuning) : null)),
    }),
    experimentCounts: t.field({
      type: ExperimentCounts,
      description: "Its experiments by state.",
      ...computed(GROUP_COUNTERS, (record) => record),
    }),
    hasTensorboard: t.boolean({ description: "Whether a TensorBoard runs.", ...property("has_tensorboard") }),
    runsUrl: t.string(runsUrl),
    metricsUrl: t.string(metricsUrl),
    experiments: t.field(
      runList(runListOf(Experiment.kind), "Experiments of the group.", {
        groupOf: (at: RunAddress) => at,
        prefetchList: (at, { session }, isSelected) => {
          if (["metrics", "metricSeries", "metricSummaries"].some(isSelected)) {
            session.prefetchList(runs.experiment.endpoints.metrics, { at, group: at });
          }
        },
      }),
    ),
  }),
});
