import { runs } from "../../rest/api/kinds.ts";
import { fieldsOf } from "../core/fields.ts";
import { BuildJob, Cloneable, Entity, Job, Loggable, Run, Trackable } from "../core/refs.ts";
import { outputFiles } from "./output-files.ts";
import { runConfig } from "./run-config.ts";
import { clone, mutations } from "../operations/mutations.ts";
import { dataReferences, nodeScheduled, outputsUrl, podId, readme, resources } from "./workload.ts";

const { reference } = fieldsOf(Job.kind);

/** Source: service document, "Job". */
Job.implement({
  description: "A job that runs on its own, not as part of an experiment.",
  interfaces: [Entity, Trackable, Run, Cloneable, Loggable],
  fields: (t) => ({
    original: t.field({
      description: "Job that this one was restarted, resumed or copied from.",
      ...reference("original", Job),
    }),
    buildJob: t.field({ description: "Build of its image.", ...reference("build_job", BuildJob) }),
    config: t.field(runConfig("What runs and how its image is built.")),
    resources: t.field(resources),
    nodeScheduled: t.field(nodeScheduled),
    podId: t.string(podId),
    dataReferences: t.field(dataReferences),
    readme: t.string(readme),
    outputsUrl: t.string(outputsUrl),
    outputFiles: t.field(outputFiles),
  }),
});

mutations({
  restartJob: clone(Job, runs.job.endpoints.restart, "Restarts a job as a new record."),
});
