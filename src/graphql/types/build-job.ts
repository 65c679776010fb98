import { build, optional } from "../../rest/api/endpoints.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { lookUp } from "../core/look-up.ts";
import { BuildJob, Entity, Loggable, Run, Trackable } from "../core/refs.ts";
import { runConfig } from "./run-config.ts";
import { act, mutations, remove } from "../operations/mutations.ts";
import { update } from "../operations/update.ts";
import { backend, nodeScheduled, podId, resources } from "./workload.ts";

const { property } = fieldsOf(BuildJob.kind);

/** Source: service document, "Build job". */
BuildJob.implement({
  description: "A build of a container image.",
  interfaces: [Entity, Trackable, Run, Loggable],
  fields: (t) => ({
    config: t.field(runConfig("How the image is built.")),
    resources: t.field(resources),
    nodeScheduled: t.field(nodeScheduled),
    podId: t.string(podId),
    backend: t.string(backend),
    jobCount: t.int({ description: "Number of jobs that use the image.", ...property("num_jobs") }),
    experimentCount: t.int({
      description: "Number of experiments that use the image.",
      ...property("num_experiments"),
    }),
    dockerfile: t.string({
      description: "Dockerfile that the service generated.",
      ...property("dockerfile"),
    }),
    commit: t.string({
      description: "Commit that was built: 40 hexadecimal digits.",
      ...property("commit"),
    }),
  }),
});

builder.queryField("buildJob", (t) => t.field(lookUp(BuildJob, "A build job.")));

mutations({
  updateBuildJob: update(BuildJob, build.update, "Changes a build job.", { hasReadme: false }),
  deleteBuildJob: remove(BuildJob, build.delete, "Deletes a build job."),
  stopBuildJob: act(
    BuildJob,
    build.stop,
    "Stops a build job. Stopping takes time: the status in the payload can still be the old one.",
  ),
  bookmarkBuildJob: act(BuildJob, build.bookmark, "Bookmarks a build job for the caller."),
  unbookmarkBuildJob: act(BuildJob, build.unbookmark, "Removes the caller's bookmark from a build job."),
  archiveBuildJob: act(
    BuildJob,
    optional.archiveBuild,
    "Archives a build job: lists leave it out until it is restored. The server can stop what is archived, and delete it for good after some days. Requires the capability `ARCHIVES`.",
  ),
  restoreBuildJob: act(
    BuildJob,
    optional.restoreBuild,
    "Restores a build job from the archive. Requires the capability `ARCHIVES`.",
  ),
});
