import { runs } from "../../rest/api/kinds.ts";
import { fieldsOf } from "../core/fields.ts";
import { BuildJob, Entity, Job, Loggable, Run, Trackable } from "../core/refs.ts";
import { cloned, command } from "../core/mutations.ts";
import { cloneFields } from "./run.ts";
import { outputFiles } from "./output-files.ts";
import { dataReferences, nodeScheduled, outputsUrl, readme, resources, runConfig } from "./workload.ts";

const { reference } = fieldsOf(Job.kind);

/** Source: service document, "Job". */
Job.implement({
  description: "A job that runs on its own, not as part of an experiment.",
  interfaces: [Entity, Trackable, Run, Loggable],
  fields: (t) => ({
    original: t.field(reference("original", Job, "What it was restarted, resumed or copied from.")),
    ...cloneFields(t),
    buildJob: t.field(reference("build_job", BuildJob, "Build of its image.")),
    config: t.field(runConfig("Its configuration.")),
    resources: t.field(resources),
    nodeScheduled: t.field(nodeScheduled),
    dataReferences: t.field(dataReferences),
    readme: t.string(readme),
    outputsUrl: t.string(outputsUrl),
    outputFiles: t.field(outputFiles),
  }),
});

command("restartJob", runs.job.endpoints.restart, {
  target: Job,
  description: "Restarts a job as a new record.",
  resultOf: cloned,
});
