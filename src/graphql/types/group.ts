import { byName, type ByName, integer, object, unstated } from "../../rest/api/record.ts";
import { GROUP_COUNTERS, type GroupRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, derivedOrNull, known, objectType, shown, shownOrNull } from "../core/builder.ts";
import { isParameterValue } from "../core/scalars.ts";
import { fieldsOf } from "../core/fields.ts";
import { Entity, Experiment, Group, Run, Trackable } from "../core/refs.ts";
import { metricsUrl, runsUrl } from "./export-urls.ts";
import { runList } from "./run-list.ts";
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

const MatrixValues = objectType<Values>("MatrixValues", "A fixed set of values.", (t) => ({
  values: t.field({ type: ["ParameterValue"], ...shown("values", "The values.") }),
}));

const MatrixLinspace = objectType<Linspace>("MatrixLinspace", "Evenly spaced numbers.", (t) => ({
  num: t.int(shownOrNull("num", "Number of values.")),
  start: t.float(shownOrNull("start", "First number.")),
  stop: t.float(shownOrNull("stop", "Last number.")),
}));

const MatrixOther = objectType<Other>("MatrixOther", "A form that this schema does not know.", (t) => ({
  raw: t.field(derivedOrNull("JSON", "As received.", ({ raw }) => raw)),
}));

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

const MatrixParameter = objectType<Parameter>("MatrixParameter", "A searched parameter.", (t) => ({
  name: t.string(shown("name", "Name of the parameter.")),
  definition: t.field({ type: MatrixDefinition, ...shown("definition", "Its values.") }),
}));

const RandomSearch = objectType<ByName>("RandomSearch", "Settings of a random search.", (t) => ({
  experimentCount: t.int(known("n_experiments", integer, "Number of experiments.")),
}));

const HyperparameterTuning = builder.objectRef<ByName>("HyperparameterTuning").implement({
  description: "Settings of a hyperparameter search.",
  fields: (t) => ({
    earlyStopping: t.field({
      type: "JSON",
      ...known("early_stopping", unstated, "Rules of early stopping."),
    }),
    concurrency: t.int(known("concurrency", integer, "Experiments that may run at a time.")),
    seed: t.field({ type: "JSON", ...known("seed", unstated, "Random seed.") }),
    matrix: t.field({
      type: [MatrixParameter],
      description: "Searched parameters, by name.",
      resolve: ({ matrix }) =>
        byName(matrix) && matrix
          ? Object.keys(matrix)
              .toSorted()
              .map((name) => ({ name, definition: definitionOf(matrix[name]) }))
          : null,
    }),
    randomSearch: t.field({
      type: RandomSearch,
      ...known("random_search", object, "Settings of a random search."),
    }),
    raw: t.field(derivedOrNull("JSON", "All of it, as received.", (settings) => settings)),
  }),
});

const ExperimentCounts = builder
  .objectRef<Partial<Pick<GroupRecord, (typeof GROUP_COUNTERS)[number]>>>("ExperimentCounts")
  .implement({
    description: "Numbers of experiments by state, as the service counts them. They can overlap.",
    fields: (t) => ({
      total: t.int(shownOrNull("num_experiments", "All experiments.")),
      pending: t.int(shownOrNull("num_pending_experiments", "Waiting.")),
      running: t.int(shownOrNull("num_running_experiments", "Running.")),
      scheduled: t.int(shownOrNull("num_scheduled_experiments", "Scheduled.")),
      succeeded: t.int(shownOrNull("num_succeeded_experiments", "Succeeded.")),
      failed: t.int(shownOrNull("num_failed_experiments", "Ended with an error.")),
      stopped: t.int(shownOrNull("num_stopped_experiments", "Stopped.")),
    }),
  });

const { property, computed } = fieldsOf(Group.kind);

/** Source: service document, "Experiment group". */
Group.implement({
  description: "A group of experiments: a hyperparameter search.",
  interfaces: [Entity, Trackable, Run],
  fields: (t) => ({
    groupType: t.string(property("group_type", "Such as `study` (a search) or `selection` (chosen ones).")),
    readme: t.string(readme),
    concurrency: t.int(property("concurrency", "Experiments that may run at a time.")),
    searchAlgorithm: t.string(property("search_algorithm", "Such as `random`.")),
    currentIteration: t.int(property("current_iteration", "Iteration of the search.")),
    content: t.string(property("content", "Its specification as text.")),
    hptuning: t.field({ type: HyperparameterTuning, ...property("hptuning", "Settings of the search.") }),
    experimentCounts: t.field({
      type: ExperimentCounts,
      ...computed(GROUP_COUNTERS, "Its experiments by state.", (record) => record),
    }),
    hasTensorboard: t.boolean(property("has_tensorboard", "Whether a TensorBoard runs.")),
    runsUrl: t.string(runsUrl),
    metricsUrl: t.string(metricsUrl),
    experiments: t.field(
      runList<RunAddress>(Experiment, "Experiments of the group.", { groupOf: (address) => address }),
    ),
  }),
});
