import {
  openConfig,
  type RunConfig as RunConfigValue,
  type RunConfigRecord,
} from "../../rest/api/run-config.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";

type Known = RunConfigRecord["known"];

const BuildConfig = builder.objectRef<NonNullable<Known["build"]>>("BuildConfig").implement({
  description: "How an image is built.",
  fields: (t) => ({
    image: t.exposeString("image", { nullable: true, description: "Base image." }),
    buildSteps: t.stringList({
      description: "Commands of the build.",
      resolve: ({ build_steps }) => build_steps ?? null,
    }),
  }),
});

const RunCommand = builder.objectRef<NonNullable<Known["run"]>>("RunCommand").implement({
  description: "Command of a run.",
  fields: (t) => ({
    cmd: t.exposeString("cmd", { nullable: true, description: "Command line." }),
  }),
});

const RunConfig = builder.objectRef<RunConfigRecord>("RunConfig").implement({
  description:
    "What runs and how its image is built. Some servers send it as YAML, of which up to 16384 characters are read.",
  fields: (t) => ({
    version: t.int({ description: "Version of the format.", resolve: ({ known }) => known.version ?? null }),
    kind: t.string({
      description: "`experiment`, `job`, `build` or `group`.",
      resolve: ({ known }) => known.kind ?? null,
    }),
    build: t.field({
      type: BuildConfig,
      description: "How the image is built.",
      resolve: ({ known }) => known.build ?? null,
    }),
    run: t.field({
      type: RunCommand,
      description: "What runs; null for a build.",
      resolve: ({ known }) => known.run ?? null,
    }),
    raw: t.field({ type: "JSON", description: "All of it, as received.", resolve: ({ raw }) => raw }),
  }),
});

const { computed } = fieldsOf<{ readonly config?: RunConfigValue | null | undefined }>();

/** The field `config` of a run. Text is parsed only when the field is selected. */
export const runConfig = (description: string) => ({
  type: RunConfig,
  description,
  ...computed(["config"], ({ config }) => openConfig(config)),
});
