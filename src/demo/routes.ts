import { activate, deleteUser, grantSuperuser, login, revokeSuperuser, viewer } from "./accounts.ts";
import { cloneJob, copyExperiment, restartExperiment, resumeExperiment } from "./clones.ts";
import {
  bookmark,
  recordMetric,
  remove,
  startTensorboard,
  stop,
  stopTensorboard,
  unbookmark,
  update,
} from "./commands.ts";
import type { Handler, Route } from "./exchange.ts";
import { builds, experiments, groups, jobs } from "./kinds.ts";
import { log, tellBuild, tellExperiment, tellJob } from "./logs.ts";
import { cluster, node } from "./machines.ts";
import { experimentFiles, jobFiles, outputs } from "./outputs.ts";
import { experimentJob, experimentJobs, experimentJobStatuses, metrics, show, statuses } from "./reads.ts";

const E = "{owner}/{project}/experiments";
const J = "{owner}/{project}/jobs";
const B = "{owner}/{project}/builds";
const G = "{owner}/{project}/groups";

const get = (path: string, handler: Handler): Route => ({ method: "GET", path, handler });
const post = (path: string, handler: Handler): Route => ({ method: "POST", path, handler });
const patch = (path: string, handler: Handler): Route => ({ method: "PATCH", path, handler });
const del = (path: string, handler: Handler): Route => ({ method: "DELETE", path, handler });

/** The rows of the service's document, in its order, under its headings and with its spelling. */
export const routes: readonly Route[] = [
  // Auth and current user
  post("users/token/", login),
  get("users/", viewer),

  // Experiments
  get(`${E}/{id}/`, show(experiments)),
  patch(`${E}/{id}/`, update(experiments)),
  del(`${E}/{id}/`, remove(experiments)),
  post(`${E}/{id}/restart/`, restartExperiment),
  post(`${E}/{id}/resume/`, resumeExperiment),
  post(`${E}/{id}/copy`, copyExperiment),
  post(`${E}/{id}/stop`, stop(experiments)),
  get(`${E}/{id}/statuses`, statuses(experiments)),
  get(`${E}/{id}/metrics`, metrics),
  post(`${E}/{id}/metrics`, recordMetric),
  get(`${E}/{id}/jobs`, experimentJobs),
  get(`${E}/{id}/logs/`, log(experiments, tellExperiment)),
  post(`${E}/{id}/tensorboard/start`, startTensorboard(experiments)),
  post(`${E}/{id}/tensorboard/stop`, stopTensorboard(experiments)),
  get(`${E}/{id}/outputs`, outputs(experiments, experimentFiles)),
  get(`${E}/{experiment_id}/jobs/{id}/`, experimentJob),
  get(`${E}/{experiment_id}/jobs/{id}/statuses/`, experimentJobStatuses),
  post(`${E}/{experiment_id}/bookmark/`, bookmark(experiments, "experiment_id")),
  del(`${E}/{experiment_id}/unbookmark/`, unbookmark(experiments, "experiment_id")),

  // Jobs
  get(`${J}/{id}/`, show(jobs)),
  patch(`${J}/{id}/`, update(jobs)),
  del(`${J}/{id}/`, remove(jobs)),
  get(`${J}/{id}/statuses/`, statuses(jobs)),
  post(`${J}/{id}/restart`, cloneJob),
  post(`${J}/{id}/resume`, cloneJob),
  post(`${J}/{id}/copy`, cloneJob),
  post(`${J}/{id}/stop`, stop(jobs)),
  get(`${J}/{id}/logs`, log(jobs, tellJob)),
  get(`${J}/{id}/outputs`, outputs(jobs, jobFiles)),
  post(`${J}/{id}/bookmark/`, bookmark(jobs)),
  del(`${J}/{job_id}/unbookmark/`, unbookmark(jobs, "job_id")),

  // Build jobs
  get(`${B}/{id}/`, show(builds)),
  patch(`${B}/{id}/`, update(builds)),
  del(`${B}/{id}/`, remove(builds)),
  get(`${B}/{id}/statuses`, statuses(builds)),
  post(`${B}/{id}/stop`, stop(builds)),
  get(`${B}/{id}/logs`, log(builds, tellBuild)),
  post(`${B}/{id}/bookmark/`, bookmark(builds)),
  del(`${B}/{id}/unbookmark/`, unbookmark(builds)),

  // Experiment groups
  get(`${G}/{id}/`, show(groups)),
  patch(`${G}/{id}/`, update(groups)),
  del(`${G}/{id}/`, remove(groups)),
  post(`${G}/{id}/stop`, stop(groups)),
  post(`${G}/{id}/tensorboard/start`, startTensorboard(groups)),
  post(`${G}/{id}/tensorboard/stop`, stopTensorboard(groups)),
  get(`${G}/{id}/statuses`, statuses(groups)),
  post(`${G}/{id}/bookmark/`, bookmark(groups)),
  del(`${G}/{id}/unbookmark/`, unbookmark(groups)),

  // Cluster
  get("cluster/", cluster),
  get("nodes/{sequence}", node),

  // User administration
  post("users/activate/{username}/", activate),
  del("users/delete/{username}/", deleteUser),
  post("superusers/grant/{username}/", grantSuperuser),
  del("superusers/revoke/{username}/", revokeSuperuser),
];
