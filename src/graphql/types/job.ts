import { job, optional } from "../../rest/api/endpoints.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { lookUp } from "../core/look-up.ts";
import { BuildJob, Cloneable, Entity, Job, Loggable, Run, Trackable } from "../core/refs.ts";
import { runConfig } from "./run-config.ts";
import { act, clone, mutations, remove } from "../operations/mutations.ts";
import { update } from "../operations/update.ts";
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
  }),
});

builder.queryField("job", (t) => t.field(lookUp(Job, "A job.")));

mutations({
  updateJob: update(Job, job.update, "Changes a job."),
  deleteJob: remove(Job, job.delete, "Deletes a job."),
  restartJob: clone(Job, job.restart, "Restarts a job as a new record."),
  resumeJob: clone(Job, job.resume, "Resumes a job as a new record."),
  copyJob: clone(Job, job.copy, "Copies a job to a new record."),
  stopJob: act(
    Job,
    job.stop,
    "Stops a job. Stopping takes time: the status in the payload can still be the old one.",
  ),
  bookmarkJob: act(Job, job.bookmark, "Bookmarks a job for the caller."),
  unbookmarkJob: act(Job, job.unbookmark, "Removes the caller's bookmark from a job."),
  archiveJob: act(
    Job,
    optional.archiveJob,
    "Archives a job: lists leave it out until it is restored. The server can stop what is archived, and delete it for good after some days. Requires the capability `ARCHIVES`.",
  ),
  restoreJob: act(
    Job,
    optional.restoreJob,
    "Restores a job from the archive. Requires the capability `ARCHIVES`.",
  ),
});
