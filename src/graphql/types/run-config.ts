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
      description: "Commands executed while building.",
      resolve: ({ build_steps }) => build_steps ?? null,
    }),
  }),
});

const RunCommand = builder.objectRef<NonNullable<Known["run"]>>("RunCommand").implement({
  description: "What is run.",
  fields: (t) => ({
    cmd: t.exposeString("cmd", {
      nullable: true,
      description: "Command line. Null when the service sends something that is not a string.",
    }),
  }),
});

const RunConfig = builder.objectRef<RunConfigRecord>("RunConfig").implement({
  description:
    "What is run and how its image is built. Only the keys that the service documents are typed; the rest is in `raw`. Some servers write it as text of YAML: text of more than 16384 characters is null with the code `UPSTREAM_BAD_RESPONSE`.",
  fields: (t) => ({
    version: t.int({
      description: "Version of the configuration format.",
      resolve: ({ known }) => known.version ?? null,
    }),
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
      description: "What is run; null for a build job.",
      resolve: ({ known }) => known.run ?? null,
    }),
    raw: t.field({
      type: "JSON",
      description: "The whole configuration as received.",
      resolve: ({ raw }) => raw,
    }),
  }),
});

const { computed } = fieldsOf<{ readonly config?: RunConfigValue | null | undefined }>();

/** The field `config` of a run. Text is parsed only when the field is selected. */
export const runConfig = (description: string) => ({
  type: RunConfig,
  description,
  ...computed(["config"], ({ config }) => openConfig(config)),
});
