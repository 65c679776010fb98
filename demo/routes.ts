import * as accounts from "./http/accounts.ts";
import { cluster, clusterNode } from "./http/cluster.ts";
import * as commands from "./http/commands.ts";
import * as creating from "./http/creating.ts";
import * as files from "./http/files.ts";
import * as keeping from "./http/bookmarks-and-archives.ts";
import { gzipped } from "./http/lists.ts";
import type { Handler } from "./http/messages.ts";
import * as projects from "./http/projects.ts";
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
  post(`${E}/{experiment_id}/bookmark/`, keeping.bookmark(experiments, "experiment_id")),
  del(`${E}/{experiment_id}/unbookmark/`, keeping.unbookmark(experiments, "experiment_id")),

  // Jobs
  get(`${J}/{id}/`, reads.show(jobs)),
  patch(`${J}/{id}/`, commands.update(jobs)),
  del(`${J}/{id}/`, commands.remove(jobs)),
  get(`${J}/{id}/statuses/`, reads.statuses(jobs)),
  post(`${J}/{id}/restart`, commands.cloneJob("restart")),
  post(`${J}/{id}/resume`, commands.cloneJob("resume")),
  post(`${J}/{id}/copy`, commands.cloneJob("copy")),
  post(`${J}/{id}/stop`, commands.stop(jobs)),
  get(`${J}/{id}/logs`, files.log(jobs, files.jobLine)),
  get(`${J}/{id}/outputs`, files.outputs(jobs, files.jobFiles)),
  post(`${J}/{id}/bookmark/`, keeping.bookmark(jobs)),
  del(`${J}/{job_id}/unbookmark/`, keeping.unbookmark(jobs, "job_id")),

  // Build jobs
  get(`${B}/{id}/`, reads.show(builds)),
  patch(`${B}/{id}/`, commands.update(builds)),
  del(`${B}/{id}/`, commands.remove(builds)),
  get(`${B}/{id}/statuses`, reads.statuses(builds)),
  post(`${B}/{id}/stop`, commands.stop(builds)),
  get(`${B}/{id}/logs`, files.log(builds, files.buildLine)),
  post(`${B}/{id}/bookmark/`, keeping.bookmark(builds)),
  del(`${B}/{id}/unbookmark/`, keeping.unbookmark(builds)),

  // Experiment groups
  get(`${G}/{id}/`, reads.show(groups)),
  patch(`${G}/{id}/`, commands.update(groups)),
  del(`${G}/{id}/`, commands.remove(groups)),
  post(`${G}/{id}/stop`, commands.stop(groups)),
  post(`${G}/{id}/tensorboard/start`, commands.startTensorboard(groups)),
  post(`${G}/{id}/tensorboard/stop`, commands.stopTensorboard(groups)),
  get(`${G}/{id}/statuses`, reads.statuses(groups)),
  post(`${G}/{id}/bookmark/`, keeping.bookmark(groups)),
  del(`${G}/{id}/unbookmark/`, keeping.unbookmark(groups)),

  // Cluster
  get("cluster/", cluster),
  get("nodes/{sequence}", clusterNode),

  // User administration
  post("users/activate/{username}/", accounts.activate),
  del("users/delete/{username}/", accounts.deleteUser),
  post("superusers/grant/{username}/", accounts.grantSuperuser),
  del("superusers/revoke/{username}/", accounts.revokeSuperuser),
];

/** Routes of release 0.4.4 that the document lacks or spells in another way. */
export const extraRoutes: readonly Route[] = [
  // These come before the lists of projects, whose patterns match their paths as well.
  get("bookmarks/{owner}/experiments", keeping.bookmarks(experiments)),
  get("bookmarks/{owner}/jobs", keeping.bookmarks(jobs)),
  get("bookmarks/{owner}/builds", keeping.bookmarks(builds)),
  get("bookmarks/{owner}/groups", keeping.bookmarks(groups)),
  get("bookmarks/{owner}/projects", keeping.projectBookmarks),
  get("archives/{owner}/experiments", keeping.archives(experiments)),
  get("archives/{owner}/jobs", keeping.archives(jobs)),
  get("archives/{owner}/builds", keeping.archives(builds)),
  get("archives/{owner}/groups", keeping.archives(groups)),
  get("archives/{owner}/projects", keeping.projectArchives),
  post(`${E}/{id}/archive`, keeping.archive(experiments)),
  post(`${E}/{id}/restore`, keeping.restore(experiments)),
  post(`${J}/{id}/archive`, keeping.archive(jobs)),
  post(`${J}/{id}/restore`, keeping.restore(jobs)),
  post(`${B}/{id}/archive`, keeping.archive(builds)),
  post(`${B}/{id}/restore`, keeping.restore(builds)),
  post(`${G}/{id}/archive`, keeping.archive(groups)),
  post(`${G}/{id}/restore`, keeping.restore(groups)),
  post("projects", projects.create),
  post("{owner}/{project}/bookmark", projects.bookmark),
  del("{owner}/{project}/unbookmark", projects.unbookmark),
  post("{owner}/{project}/archive", projects.setArchived(true)),
  post("{owner}/{project}/restore", projects.setArchived(false)),
  patch("{owner}/{project}", projects.update),
  del("{owner}/{project}", projects.remove),
  get("{owner}", reads.projectList),
  get("{owner}/{project}", reads.projectDetail),
  post(`${E}/stop`, commands.stopExperiments),
  del(`${E}/delete`, commands.removeExperiments),
  get(`${E}/{id}/coderef`, reads.codeReference),
  get(E, (request) => gzipped(reads.list(experiments)(request))),
  post(E, creating.createExperiment),
  get(J, reads.list(jobs)),
  post(J, creating.createJob),
  get(B, reads.list(builds)),
  post(B, creating.createBuild),
  get(G, reads.list(groups)),
  post(G, creating.createGroup),
  get(`${G}/{id}/metrics`, reads.groupMetrics),
  get(`${E}/{experiment_id}/jobs/{id}/logs`, files.experimentJobLog),
  get(`${E}/{id}/outputs/download`, files.outputs(experiments, files.experimentFiles)),
  get(`${J}/{id}/outputs/download`, files.outputs(jobs, files.jobFiles)),
  get(`${E}/{id}/outputs/tree`, files.outputFolder(experiments, files.experimentFiles)),
  get(`${E}/{id}/outputs/files`, files.outputFile(experiments, files.experimentFiles)),
  get(`${J}/{id}/outputs/tree`, files.outputFolder(jobs, files.jobFiles)),
  get(`${J}/{id}/outputs/files`, files.outputFile(jobs, files.jobFiles)),
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

/** Patterns of path parameters. All others match any characters except a slash. */
const patterns: Readonly<Record<string, RegExp>> = {
  owner: /^[-\w]+$/,
  project: /^[-\w]+$/,
  id: /^\d+$/,
  experiment_id: /^\d+$/,
  job_id: /^\d+$/,
};

/**
 * Matches a method and a path with the first route of the table. A trailing slash makes no difference, but a double slash does. A routing
 * library would take longer to load than the whole demo.
 */
export function createRouter(table: readonly Route[]): (method: string, path: string) => Match {
  const routed = table.map((route) => ({ ...route, segments: segmentsOf(`/api/v1/${route.path}`) }));
  return (method, path) => {
    const given = decoded(segmentsOf(path));
    const found = routed.flatMap(({ segments, ...route }) => {
      const params = given && paramsOf(segments, given);
      return params ? [{ ...route, params }] : [];
    });
    const [first] = found;
    if (!first) return { kind: "unknown path" };
    const match = found.find((route) => route.method === method);
    return match ? { kind: "found", ...match } : { kind: "wrong method" };
  };
}

const segmentsOf = (path: string): string[] => path.replace(/\/$/, "").split("/");

/** Decodes percent-encoded segments; null when one is malformed. */
function decoded(segments: readonly string[]): string[] | null {
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** The parameters of a path that matches a route, otherwise null. */
function paramsOf(route: readonly string[], given: readonly string[]): Record<string, string> | null {
  if (route.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of route.entries()) {
    const value = given[index] ?? "";
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined ? value !== segment : !(patterns[name] ?? /./).test(value)) return null;
    if (name !== undefined) params[name] = value;
  }
  return params;
}
