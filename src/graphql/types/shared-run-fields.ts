import { type ByName, integer, number, object, text, texts } from "../../rest/api/record.ts";
import type { CloneableRecord, JobRecord, RunnableRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { openConfig } from "../../rest/api/run-config.ts";
import { textOf } from "../core/cooperative-algorithms.ts";
import { fieldsOf, type ResourceRef } from "../core/fields.ts";
import { BuildJob, Node } from "../core/refs.ts";
import {
  builder,
  computedFrom,
  computedFromOrNull,
  enumType,
  checkedProperty,
  exposed,
  objectType,
  type PothosTypes,
} from "../core/builder.ts";
import type { Resource } from "../core/resource.ts";
import { urlOf } from "./logs.ts";
import { createSorter, namedIn, toNamed } from "./metrics.ts";
import { enumValueOf } from "./status.ts";
import { outputFiles } from "./output-files.ts";

/* Fields that several kinds have in common, but not all kinds of run: `resources: t.field(resources)`. */

const { property, reference, computed } = fieldsOf<JobRecord>();

const ResourceAmount = objectType<ByName>("ResourceAmount", "How much of a resource a run gets.", (t) => ({
  request: t.float(checkedProperty("requests", number, "Reserved amount; null if none is.")),
  limit: t.float(checkedProperty("limits", number, "Largest amount; null without a limit.")),
}));

const Resources = objectType<ByName>("Resources", "Resources that a run requests.", (t) => ({
  cpuCores: t.field({
    type: ResourceAmount,
    ...checkedProperty("cpu", object, "CPU, in cores on known servers; null if none is requested."),
  }),
  memoryMiB: t.field({
    type: ResourceAmount,
    ...checkedProperty("memory", object, "Memory, in MiB on known servers; null if none is requested."),
  }),
  gpus: t.field({
    type: ResourceAmount,
    ...checkedProperty("gpu", object, "Number of GPUs; null if none is requested."),
  }),
  raw: t.field(computedFrom("JSON", "All of it, as received.", (resources) => resources)),
}));

export const resources = {
  type: Resources,
  ...property("resources", "Requested resources; null if it requests none."),
};

const DataReference = objectType<{ readonly name: string; readonly value: unknown }>(
  "DataReference",
  "Data that a run reads.",
  (t) => ({
    name: t.string(exposed("name", "Name of the data.")),
    version: t.field(
      computedFrom(
        "String",
        "Version that the run has recorded, such as a hash; as JSON if it is not a string.",
        ({ value }, _, context) => textOf(value, context),
      ),
    ),
  }),
);

const sortData = createSorter();

const dataReferences = {
  type: [DataReference] as [typeof DataReference],
  ...computed(
    ["data_refs"],
    "Versions of the data that it reads, by name; null if it has recorded none.",
    ({ data_refs }, _, _args: object, context) =>
      data_refs ? namedIn(data_refs, { toNamed, sort: sortData }, context) : null,
  ),
};

export const nodeScheduled = reference("node_scheduled", Node, "Machine on which it was scheduled.");

/** The field `isArchived`. It never causes an upstream request: only lists of archived records have the key, not the records themselves. */
export const archived = {
  ...fieldsOf<Pick<RunnableRecord, "deleted">>().fromAddress(
    "Whether it is archived; null if the service does not say.",
    ({ loaded }) => loaded.deleted ?? null,
  ),
  nullable: true,
};

export const readme = property("readme", "Notes in Markdown; null if it has none.");

const BuildConfig = objectType<ByName>("BuildConfig", "How an image is built.", (t) => ({
  image: t.string(checkedProperty("image", text, "Base image.")),
  buildSteps: t.stringList(checkedProperty("build_steps", texts, "Commands of the build.")),
}));

const RunCommand = objectType<ByName>("RunCommand", "Command of a run.", (t) => ({
  cmd: t.string(checkedProperty("cmd", text, "Command line.")),
}));

const RunConfig = builder.objectRef<ByName>("RunConfig").implement({
  description:
    "Command and image of a run, with the values of its parameters filled in. Some servers send it as YAML; its first 16384 characters are read.",
  fields: (t) => ({
    version: t.int(checkedProperty("version", integer, "Version of the format.")),
    kind: t.string(checkedProperty("kind", text, "`experiment`, `job`, `build` or `group`.")),
    build: t.field({ type: BuildConfig, ...checkedProperty("build", object, "How the image is built.") }),
    run: t.field({ type: RunCommand, ...checkedProperty("run", object, "Its command; null for a build.") }),
    raw: t.field(computedFromOrNull("JSON", "All of it, as received.", (config) => config)),
  }),
});

/** The field `config` of a run. A string is parsed only when the field is selected. */
export const runConfig = (description: string) => ({
  type: RunConfig,
  ...computed(["config"], description, ({ config }, _, _args, context) =>
    openConfig(config, (task) => context.runCooperatively(task)),
  ),
});

const STRATEGIES = {
  RESTART: "Run again from the beginning.",
  RESUME: "Continued from the end of the original.",
  COPY: "Run again with a copy of the original's outputs.",
  OTHER: "A way that this schema does not have.",
} as const;

const CloningStrategyEnum = enumType(
  "CloningStrategy",
  "How a run was created from another one.",
  STRATEGIES,
);

/** Converts a cloning strategy to the enum. An unknown string becomes `OTHER`; null if the run is not a clone. */
const cloningStrategyOf = (raw: string | null | undefined) =>
  raw ? enumValueOf<keyof typeof STRATEGIES>(STRATEGIES, raw) : null;

/** The fields of kinds that can be restarted, resumed and copied. */
export const cloneableFields = <R extends CloneableRecord>(
  t: PothosSchemaTypes.ObjectFieldBuilder<PothosTypes, Resource<R, RunAddress>>,
  target: ResourceRef<R, RunAddress>,
) => ({
  original: t.field(
    reference(
      "original",
      target,
      "The run that it was restarted, resumed or copied from; null if it is not a clone, or the original was deleted.",
    ),
  ),
  cloningStrategy: t.field({
    type: CloningStrategyEnum,
    ...computed(
      ["cloning_strategy"],
      "How it was created from its original; null if it is not a clone.",
      ({ cloning_strategy }) => cloningStrategyOf(cloning_strategy),
    ),
  }),
  buildJob: t.field(reference("build_job", BuildJob, "Build of its image.")),
  config: t.field(runConfig("Its configuration.")),
  resources: t.field(resources),
  dataReferences: t.field(dataReferences),
  readme: t.string(readme),
  outputsUrl: t.string(urlOf("outputs", "the output files as an archive")),
  outputFiles: t.field(outputFiles),
});
