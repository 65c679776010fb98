import findMyWay from "find-my-way";

import * as accounts from "./http/accounts.ts";
import { cluster, clusterNode } from "./http/cluster.ts";
import * as commands from "./http/commands.ts";
import * as files from "./http/files.ts";
import { gzipped } from "./http/lists.ts";
import type { Handler } from "./http/messages.ts";
import * as reads from "./http/reads.ts";
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
  post("users/token/", accounts.login),
  get("users/", accounts.viewer),

  // Experiments
  get(`${E}/{id}/`, reads.show(experiments)),
  patch(`${E}/{id}/`, commands.update(experiments)),
  del(`${E}/{id}/`, commands.remove(experiments)),
  post(`${E}/{id}/restart/`, commands.restartExperiment),
  post(`${E}/{id}/resume/`, commands.resumeExperiment),
  post(`${E}/{id}/copy`, commands.copyExperiment),
  post(`${E}/{id}/stop`, commands.stop(experiments)),
  get(`${E}/{id}/statuses`, reads.statuses(experiments)),
  get(`${E}/{id}/metrics`, reads.metrics),
  post(`${E}/{id}/metrics`, commands.postMetric),
  get(`${E}/{id}/jobs`, reads.experimentJobs),
  get(`${E}/{id}/logs/`, files.log(experiments, files.experimentLine)),
  post(`${E}/{id}/tensorboard/start`, commands.startTensorboard(experiments)),
  post(`${E}/{id}/tensorboard/stop`, commands.stopTensorboard(experiments)),
  get(`${E}/{id}/outputs`, files.outputs(experiments, files.experimentFiles)),
  get(`${E}/{experiment_id}/jobs/{id}/`, reads.experimentJob),
  get(`${E}/{experiment_id}/jobs/{id}/statuses/`, reads.experimentJobStatuses),
  post(`${E}/{experiment_id}/bookmark/`, commands.bookmark(experiments, "experiment_id")),
  del(`${E}/{experiment_id}/unbookmark/`, commands.unbookmark(experiments, "experiment_id")),

  // Jobs
  get(`${J}/{id}/`, reads.show(jobs)),
  patch(`${J}/{id}/`, commands.update(jobs)),
  del(`${J}/{id}/`, commands.remove(jobs)),
  get(`${J}/{id}/statuses/`, reads.statuses(jobs)),
  post(`${J}/{id}/restart`, commands.cloneJob),
  post(`${J}/{id}/resume`, commands.cloneJob),
  post(`${J}/{id}/copy`, commands.cloneJob),
  post(`${J}/{id}/stop`, commands.stop(jobs)),
  get(`${J}/{id}/logs`, files.log(jobs, files.jobLine)),
  get(`${J}/{id}/outputs`, files.outputs(jobs, files.jobFiles)),
  post(`${J}/{id}/bookmark/`, commands.bookmark(jobs)),
  del(`${J}/{job_id}/unbookmark/`, commands.unbookmark(jobs, "job_id")),

  // Build jobs
  get(`${B}/{id}/`, reads.show(builds)),
  patch(`${B}/{id}/`, commands.update(builds)),
  del(`${B}/{id}/`, commands.remove(builds)),
  get(`${B}/{id}/statuses`, reads.statuses(builds)),
  post(`${B}/{id}/stop`, commands.stop(builds)),
  get(`${B}/{id}/logs`, files.log(builds, files.buildLine)),
  post(`${B}/{id}/bookmark/`, commands.bookmark(builds)),
  del(`${B}/{id}/unbookmark/`, commands.unbookmark(builds)),

  // Experiment groups
  get(`${G}/{id}/`, reads.show(groups)),
  patch(`${G}/{id}/`, commands.update(groups)),
  del(`${G}/{id}/`, commands.remove(groups)),
  post(`${G}/{id}/stop`, commands.stop(groups)),
  post(`${G}/{id}/tensorboard/start`, commands.startTensorboard(groups)),
  post(`${G}/{id}/tensorboard/stop`, commands.stopTensorboard(groups)),
  get(`${G}/{id}/statuses`, reads.statuses(groups)),
  post(`${G}/{id}/bookmark/`, commands.bookmark(groups)),
  del(`${G}/{id}/unbookmark/`, commands.unbookmark(groups)),

  // Cluster
  get("cluster/", cluster),
  get("nodes/{sequence}", clusterNode),

  // User administration
  post("users/activate/{username}/", accounts.activate),
  del("users/delete/{username}/", accounts.deleteUser),
  post("superusers/grant/{username}/", accounts.grantSuperuser),
  del("superusers/revoke/{username}/", accounts.revokeSuperuser),
];

/** What release 0.4.4 offers besides the rows of the document, or spells in another way. */
export const extraRoutes: readonly Route[] = [
  get("{owner}", reads.projectList),
  get(E, (request) => gzipped(reads.list(experiments)(request))),
  get(J, reads.list(jobs)),
  get(B, reads.list(builds)),
  get(G, reads.list(groups)),
  get(`${G}/{id}/metrics`, reads.groupMetrics),
  get(`${E}/{experiment_id}/jobs/{id}/logs`, files.experimentJobLog),
  get(`${E}/{id}/outputs/download`, files.outputs(experiments, files.experimentFiles)),
  get(`${J}/{id}/outputs/download`, files.outputs(jobs, files.jobFiles)),
  post("superusers/revoke/{username}", accounts.revokeSuperuser),
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
