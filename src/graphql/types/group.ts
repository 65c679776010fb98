import { roundedOf } from "../../rest/api/reader.ts";
import { object, type ByName, integer, isObject, MAX_ENTRY_NAMES } from "../../rest/api/record.ts";
import { GROUP_COUNTERS, type GroupRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import {
  builder,
  OPEN,
  computedFrom,
  computedFromOrNull,
  checkedProperty,
  objectType,
  exposed,
  exposedOrNull,
} from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { Experiment, Group, resourceType } from "../core/refs.ts";
import { experimentsUrl, metricsUrl } from "./export-urls.ts";
import { createSorter } from "./metrics.ts";
import { runList } from "./run-list.ts";
import { finite } from "./series.ts";
import { readme } from "./shared-run-fields.ts";

type Values = { readonly values: readonly unknown[] };

const MatrixValues = objectType<Values>("MatrixValues", "A fixed set of values.", (t) => ({
  values: t.field({ type: ["JSON"], ...exposed("values", "The values: strings, numbers or booleans.") }),
}));

const MatrixLinspace = objectType<{ readonly linspace: ByName }>(
  "MatrixLinspace",
  "Evenly spaced numbers.",
  (t) => ({
    num: t.field(
      computedFromOrNull("Int", "Number of values.", ({ linspace: { num } }) => (integer(num) ? num : null)),
    ),
    start: t.field(computedFromOrNull("Float", "First number.", ({ linspace }) => finite(linspace["start"]))),
    stop: t.field(computedFromOrNull("Float", "Last number.", ({ linspace }) => finite(linspace["stop"]))),
  }),
);

const MatrixOther = objectType<{ readonly raw: unknown }>(
  "MatrixOther",
  "A definition of a form that this schema does not have.",
  (t) => ({
    raw: t.field(computedFromOrNull("JSON", "As received.", ({ raw }) => raw)),
  }),
);

const MatrixDefinition = builder.unionType("MatrixDefinition", {
  description: `Values of a searched parameter. ${OPEN.union}`,
  types: [MatrixValues, MatrixLinspace, MatrixOther],
  resolveType: (definition) =>
    "values" in definition ? "MatrixValues" : "linspace" in definition ? "MatrixLinspace" : "MatrixOther",
});

const isScalar = (value: unknown): boolean =>
  ["string", "number", "boolean"].includes(typeof value) || roundedOf(value) !== null;

/** Converts the values of a searched parameter. `raw` has values that are in none of the documented formats. */
function definitionOf(raw: unknown) {
  const { values, linspace }: ByName = isObject(raw) ? raw : {};
  const areKnown = Array.isArray(values) && values.every(isScalar);
  return areKnown ? { values } : isObject(linspace) ? { linspace } : { raw };
}

type Parameter = NonNullable<ReturnType<typeof parametersIn>>[number];

const MatrixParameter = objectType<Parameter>("MatrixParameter", "A searched parameter.", (t) => ({
  name: t.string(exposed("name", "Name of the parameter.")),
  definition: t.field(computedFrom(MatrixDefinition, "Its values.", ({ raw }) => definitionOf(raw))),
}));

const sortParameters = createSorter();

/** The searched parameters, sorted by name. Null if the matrix is not an object, or has more than `MAX_ENTRY_NAMES` names. */
function parametersIn(matrix: unknown) {
  if (!isObject(matrix)) return null;
  const names = Object.keys(matrix);
  if (names.length > MAX_ENTRY_NAMES) return null;
  return sortParameters(names).map((name) => ({ name, raw: matrix[name] }));
}

const RandomSearch = objectType<ByName>("RandomSearch", "Settings of a random search.", (t) => ({
  experimentCount: t.int(checkedProperty("n_experiments", integer, "Number of experiments.")),
}));

const HyperparameterTuning = builder.objectRef<ByName>("HyperparameterTuning").implement({
  description: "Settings of a hyperparameter search.",
  fields: (t) => ({
    // `early_stopping` and `seed` may be any JSON, so they need no check.
    earlyStopping: t.field(
      computedFromOrNull("JSON", "Rules of early stopping.", ({ early_stopping: rules }) => rules ?? null),
    ),
    concurrency: t.int(checkedProperty("concurrency", integer, "Experiments that may run at a time.")),
    seed: t.field(computedFromOrNull("JSON", "Random seed.", ({ seed }) => seed ?? null)),
    matrix: t.field(
      computedFromOrNull([MatrixParameter], "Searched parameters, by name.", ({ matrix }) =>
        parametersIn(matrix),
      ),
    ),
    randomSearch: t.field({
      type: RandomSearch,
      ...checkedProperty("random_search", object, "Settings of a random search."),
    }),
    raw: t.field(computedFromOrNull("JSON", "All of it, as received.", (settings) => settings)),
  }),
});

const ExperimentCounts = objectType<Partial<Pick<GroupRecord, (typeof GROUP_COUNTERS)[number]>>>(
  "ExperimentCounts",
  "Numbers of experiments by state, as the service counts them. They can overlap.",
  (t) => ({
    total: t.int(exposedOrNull("num_experiments", "All experiments.")),
    pending: t.int(exposedOrNull("num_pending_experiments", "Waiting.")),
    running: t.int(exposedOrNull("num_running_experiments", "Running.")),
    scheduled: t.int(exposedOrNull("num_scheduled_experiments", "Scheduled.")),
    succeeded: t.int(exposedOrNull("num_succeeded_experiments", "Succeeded.")),
    failed: t.int(exposedOrNull("num_failed_experiments", "Ended with an error.")),
    stopped: t.int(exposedOrNull("num_stopped_experiments", "Stopped.")),
  }),
);

const { property, computed } = fieldsOf(Group.kind);

/** Source: service document, "Experiment group". */
resourceType(Group, "A group of experiments: a hyperparameter search.", (t) => ({
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
  experimentsUrl: t.string(experimentsUrl),
  metricsUrl: t.string(metricsUrl),
  experiments: t.field(
    runList<RunAddress>(Experiment, "Experiments of the group.", { groupOf: (address) => address }),
  ),
}));
