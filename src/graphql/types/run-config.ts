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
      description: "Commands that run during the build.",
      resolve: ({ build_steps }) => build_steps ?? null,
    }),
  }),
});

const RunCommand = builder.objectRef<NonNullable<Known["run"]>>("RunCommand").implement({
  description: "Command of a run.",
  fields: (t) => ({
    cmd: t.exposeString("cmd", {
      nullable: true,
      description: "Command line. Null if the service sends anything but a string.",
    }),
  }),
});

const RunConfig = builder.objectRef<RunConfigRecord>("RunConfig").implement({
  description:
    "What runs and how its image is built. Documented keys have fields; the whole is in `raw`. Some servers send it as YAML text: text of more than 16384 characters is null with the code `UPSTREAM_BAD_RESPONSE`.",
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
      description: "What runs. Null for a build job.",
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
