import { type RunKind, runs } from "../../rest/api/kinds.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { fieldsOf } from "../core/fields.ts";
import { BuildJob, Experiment, Job, resourceType } from "../core/refs.ts";
import { runList } from "./run-list.ts";
import { nodeScheduled, resources, runConfig } from "./shared-run-fields.ts";

const { property } = fieldsOf(BuildJob.kind);

/** A field with the runs of one kind that use a build job, found by the server's filter. */
const thatUse = (target: typeof Experiment | typeof Job, { many }: RunKind) =>
  runList(target, `The ${many} that use the image. Requires \`FILTERS\`.`, {
    narrowedTo: ({ id }: RunAddress) => ({
      name: "",
      conditions: [{ argument: "build", key: "build", operator: "anyOf", operands: [id] }],
    }),
  });

/** Source: service document, "Build job". */
resourceType(BuildJob, "A build of a container image.", (t) => ({
  config: t.field(runConfig("How the image is built.")),
  resources: t.field(resources),
  nodeScheduled: t.field(nodeScheduled),
  jobCount: t.int(property("num_jobs", "Jobs that use the image.")),
  experimentCount: t.int(property("num_experiments", "Experiments that use the image.")),
  experiments: t.field(thatUse(Experiment, runs.experiment)),
  jobs: t.field(thatUse(Job, runs.job)),
  dockerfile: t.string(property("dockerfile", "Generated Dockerfile.")),
  commit: t.string(property("commit", "Commit that was built: 40 hexadecimal digits.")),
}));
