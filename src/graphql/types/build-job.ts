import { fieldsOf } from "../core/fields.ts";
import { BuildJob, Entity, Loggable, Run, Trackable } from "../core/refs.ts";
import { experimentsOfBuild, jobsOfBuild } from "./reverse-links.ts";
import { runConfig } from "./run-config.ts";
import { nodeScheduled, resources } from "./workload.ts";

const { property } = fieldsOf(BuildJob.kind);

/** Source: service document, "Build job". */
BuildJob.implement({
  description: "A build of a container image.",
  interfaces: [Entity, Trackable, Run, Loggable],
  fields: (t) => ({
    config: t.field(runConfig("How the image is built.")),
    resources: t.field(resources),
    nodeScheduled: t.field(nodeScheduled),
    jobCount: t.int({ description: "Jobs that use the image.", ...property("num_jobs") }),
    experimentCount: t.int({
      description: "Experiments that use the image.",
      ...property("num_experiments"),
    }),
    experiments: t.field(experimentsOfBuild),
    jobs: t.field(jobsOfBuild),
    dockerfile: t.string({ description: "Generated Dockerfile.", ...property("dockerfile") }),
    commit: t.string({ description: "Commit that was built: 40 hexadecimal digits.", ...property("commit") }),
  }),
});
