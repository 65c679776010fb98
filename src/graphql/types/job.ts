import { job } from "../../rest/api/endpoints.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { lookUp } from "../core/look-up.ts";
import { downloadUrl } from "./logs.ts";
import { BuildJob, Cloneable, Entity, Job, Loggable, Node, Run, Trackable } from "../core/refs.ts";
import { runConfig } from "./run-config.ts";
import { act, clone, mutations, remove, update } from "../operations/mutations.ts";

const { property, reference, fromAddress } = fieldsOf(Job.kind);

/** Source: service document, "Job". */
Job.implement({
  description: "A run that is not an experiment.",
  interfaces: [Entity, Trackable, Run, Cloneable, Loggable],
  fields: (t) => ({
    original: t.field({
      description: "Job this one was restarted, resumed or copied from.",
      ...reference("original", Job),
    }),
    buildJob: t.field({ description: "Build that made its image.", ...reference("build_job", BuildJob) }),
    config: t.field(runConfig("What is run and how its image is built.")),
    resources: t.field({
      type: "JSON",
      description: "Requested resources. The shape is not stated by the service.",
      ...property("resources"),
    }),
    nodeScheduled: t.field({
      description: "Machine it was scheduled on.",
      ...reference("node_scheduled", Node),
    }),
    outputsUrl: t.string({
      nullable: false,
      description:
        "URL at this gateway that streams the output files through; send the same Authorization header as for GraphQL. Costs no request.",
      ...fromAddress((resource, _, context) => downloadUrl(resource, "outputs", context)),
    }),
  }),
});

builder.queryField("job", (t) => t.field(lookUp(Job, "A job.")));

mutations({
  updateJob: update(Job, job.update, "Change a job."),
  deleteJob: remove(Job, job.delete, "Delete a job."),
  restartJob: clone(Job, job.restart, "Run a job anew, as a new record."),
  resumeJob: clone(Job, job.resume, "Continue a job, as a new record."),
  copyJob: clone(Job, job.copy, "Copy a job, as a new record."),
  stopJob: act(
    Job,
    job.stop,
    "Ask the service to stop a job. Stopping takes time: the status read afterwards can still be the old one.",
  ),
  bookmarkJob: act(Job, job.bookmark, "Bookmark a job for the caller."),
  unbookmarkJob: act(Job, job.unbookmark, "Remove the caller's bookmark from a job."),
});
