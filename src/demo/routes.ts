import findMyWay from "find-my-way";

import { activate, deleteUser, grantSuperuser, login, revokeSuperuser, viewer } from "./http/accounts.ts";
import { cluster, node } from "./http/cluster.ts";
import {
  bookmark,
  cloneJob,
  copyExperiment,
  postMetric,
  remove,
  restartExperiment,
  resumeExperiment,
  startTensorboard,
  stop,
  stopTensorboard,
  unbookmark,
  update,
} from "./http/commands.ts";
import {
  buildLine,
  experimentFiles,
  experimentJobLog,
  experimentLine,
  jobFiles,
  jobLine,
  log,
  outputs,
} from "./http/files.ts";
import { gzipped } from "./http/lists.ts";
import type { Handler } from "./http/messages.ts";
import {
  experimentJob,
  experimentJobs,
  experimentJobStatuses,
  groupMetrics,
  list,
  metrics,
  projectList,
  show,
  statuses,
} from "./http/reads.ts";
import { builds, experiments, groups, jobs } from "./kinds.ts";

interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Relative to `/api/v1/`, spelled as in the document, parameters in braces. */
  readonly path: string;
  readonly handler: Handler;
}

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
  post(`${E}/{id}/metrics`, postMetric),
  get(`${E}/{id}/jobs`, experimentJobs),
  get(`${E}/{id}/logs/`, log(experiments, experimentLine)),
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
  get(`${J}/{id}/logs`, log(jobs, jobLine)),
  get(`${J}/{id}/outputs`, outputs(jobs, jobFiles)),
  post(`${J}/{id}/bookmark/`, bookmark(jobs)),
  del(`${J}/{job_id}/unbookmark/`, unbookmark(jobs, "job_id")),

  // Build jobs
  get(`${B}/{id}/`, show(builds)),
  patch(`${B}/{id}/`, update(builds)),
  del(`${B}/{id}/`, remove(builds)),
  get(`${B}/{id}/statuses`, statuses(builds)),
  post(`${B}/{id}/stop`, stop(builds)),
  get(`${B}/{id}/logs`, log(builds, buildLine)),
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

/** What release 0.4.4 offers besides the rows of the document, or spells in another way. */
export const extraRoutes: readonly Route[] = [
  get("{owner}", projectList),
  get(E, (request) => gzipped(list(experiments)(request))),
  get(J, list(jobs)),
  get(B, list(builds)),
  get(G, list(groups)),
  get(`${G}/{id}/metrics`, groupMetrics),
  get(`${E}/{experiment_id}/jobs/{id}/logs`, experimentJobLog),
  get(`${E}/{id}/outputs/download`, outputs(experiments, experimentFiles)),
  get(`${J}/{id}/outputs/download`, outputs(jobs, jobFiles)),
  post("superusers/revoke/{username}", revokeSuperuser),
];

type Match =
  | {
      readonly kind: "found";
      readonly handler: Handler;
      readonly params: Readonly<Record<string, string | undefined>>;
    }
  | { readonly kind: "wrong method" }
  | { readonly kind: "unknown path" };

/** Patterns of path parameters; the others match anything but a slash. */
const patterns: Readonly<Record<string, string>> = {
  owner: "(^[-\\w]+$)",
  project: "(^[-\\w]+$)",
  id: "(^\\d+$)",
  experiment_id: "(^\\d+$)",
  job_id: "(^\\d+$)",
};

const methods = ["GET", "POST", "PATCH", "DELETE"] as const;

/** Matches a method and a path with a route. A trailing slash makes no difference, a double one does. */
export function createRouter(table: readonly Route[]): (method: string, path: string) => Match {
  const router = findMyWay({ ignoreTrailingSlash: true, maxParamLength: 200 });
  for (const { method, path, handler } of table) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `:${name}${patterns[name] ?? ""}`);
    router.on(method, `/api/v1/${pattern.replace(/\/$/, "")}`, () => {}, handler);
  }
  return (method, path) => {
    const known = methods.find((candidate) => candidate === method);
    const found = known ? router.find(known, path) : null;
    if (found) {
      // Each route was registered above with its handler as the store.
      const handler: Handler = found.store;
      return { kind: "found", handler, params: found.params };
    }
    const isKnown = methods.some((candidate) => router.find(candidate, path));
    return { kind: isKnown ? "wrong method" : "unknown path" };
  };
}
