import { builder } from "./builder.ts";
import { fieldsOf } from "./fields.ts";
import { lookUp } from "./look-up.ts";
import { BuildJob, Entity, Loggable, Node, Run, Trackable } from "./refs.ts";
import { RunConfig } from "./run-config.ts";

const { value, link } = fieldsOf(BuildJob.kind);

/** Source: service document, "Build job". */
BuildJob.implement({
  description: "The making of a container image.",
  interfaces: [Entity, Trackable, Run, Loggable],
  fields: (t) => ({
    config: t.field({ type: RunConfig, description: "How the image is built.", ...value("config") }),
    resources: t.field({
      type: "JSON",
      description: "Requested resources. The shape is not stated by the service.",
      ...value("resources"),
    }),
    nodeScheduled: t.field({ description: "Machine it was scheduled on.", ...link("node_scheduled", Node) }),
    jobCount: t.int({ description: "Number of jobs that use the image.", ...value("num_jobs") }),
    experimentCount: t.int({
      description: "Number of experiments that use the image.",
      ...value("num_experiments"),
    }),
    dockerfile: t.string({ description: "Generated build recipe.", ...value("dockerfile") }),
    commit: t.string({
      description: "Revision it was built from (40 hexadecimal digits).",
      ...value("commit"),
    }),
  }),
});

builder.queryField("buildJob", (t) => t.field(lookUp(BuildJob, "A build job.")));
