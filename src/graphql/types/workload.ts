import { type ByName, integer, object, text, texts } from "../../rest/api/record.ts";
import { openConfig, type RunConfig as RunConfigValue } from "../../rest/api/run-config.ts";
import { fieldsOf } from "../core/fields.ts";
import { Node } from "../core/refs.ts";
import { builder, derivedOrNull, known, objectType } from "../core/builder.ts";
import { downloadUrl } from "./logs.ts";

/*
 * Fields that several kinds of runs and experiment jobs have, but not all: `resources: t.field(resources)`.
 */

type Text = string | null | undefined;

const { fromAddress, property, json, reference } = fieldsOf<{
  readonly resources?: unknown;
  readonly node_scheduled?: Text;
  readonly data_refs?: unknown;
  readonly readme?: Text;
}>();

export const resources = json("resources", "Requested resources.");

export const nodeScheduled = reference("node_scheduled", Node, "Machine on which it was scheduled.");

export const dataReferences = json("data_refs", "Versions of the data that it reads, by name.");

export const readme = property("readme", "Notes in Markdown.");

export const outputsUrl = fromAddress(
  "URL of the output files as an archive. Send the `Authorization` header of GraphQL.",
  (resource, _, context) => downloadUrl(resource, "outputs", context),
);

const BuildConfig = objectType<ByName>("BuildConfig", "How an image is built.", (t) => ({
  image: t.string(known("image", text, "Base image.")),
  buildSteps: t.stringList(known("build_steps", texts, "Commands of the build.")),
}));

const RunCommand = objectType<ByName>("RunCommand", "Command of a run.", (t) => ({
  cmd: t.string(known("cmd", text, "Command line.")),
}));

const RunConfig = builder.objectRef<ByName>("RunConfig").implement({
  description:
    "What runs and how its image is built. Some servers send it as YAML; its first 16384 characters are read.",
  fields: (t) => ({
    version: t.int(known("version", integer, "Version of the format.")),
    kind: t.string(known("kind", text, "`experiment`, `job`, `build` or `group`.")),
    build: t.field({ type: BuildConfig, ...known("build", object, "How the image is built.") }),
    run: t.field({ type: RunCommand, ...known("run", object, "What runs; null for a build.") }),
    raw: t.field(derivedOrNull("JSON", "All of it, as received.", (config) => config)),
  }),
});

const { computed } = fieldsOf<{ readonly config?: RunConfigValue | null | undefined }>();

/** The field `config` of a run. Text is parsed only when the field is selected. */
export const runConfig = (description: string) => ({
  type: RunConfig,
  ...computed(["config"], description, ({ config }) => openConfig(config)),
});
