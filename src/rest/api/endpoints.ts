import { del, get, json, optionalJson, patch, post } from "./endpoint.ts";
import { BookmarkedProjects, CodeReference, Project, Projects } from "./optional-records.ts";
import { Bytes, Nothing, Text } from "./reader.ts";
import {
  BookmarkedBuilds,
  BookmarkedExperiments,
  BookmarkedGroups,
  BookmarkedJobs,
  Build,
  Builds,
  Cluster,
  Experiment,
  ExperimentJob,
  ExperimentJobs,
  Experiments,
  Group,
  Groups,
  Job,
  Jobs,
  Metric,
  Metrics,
  Node,
  Statuses,
  Token,
  User,
} from "./records.ts";

/*
 * All endpoints of the service, in the order and spelling of its document, "Endpoints". Paths are relative to
 * `{base_url}/api/v1/`; the document's {u} and {p} are {owner} and {project}. Three endpoints call the record's id
 * {experiment_id} or {job_id} there; here it is always {id}, so that every mutation works with every endpoint.
 */

/** The body of an update or a restart. The profile tells which keys a server takes. */
export type Revision = Readonly<Record<string, unknown>>;
export interface Credentials {
  readonly username: string;
  readonly password: string;
}
export interface NewMetric {
  readonly values: Readonly<Record<string, number>>;
}

/** Auth and current user */
export const user = {
  login: post("users/token/", Token, {
    ...json<Credentials>(),
    anonymous: true,
    secretOf: ({ password }) => password,
  }),
  me: get("users/", User),
};

const E = "{owner}/{project}/experiments";

/** Experiments */
export const experiment = {
  read: get(`${E}/{id}/`, Experiment),
  update: patch(`${E}/{id}/`, Experiment, json<Revision>()),
  delete: del(`${E}/{id}/`, Nothing),
  restart: post(`${E}/{id}/restart/`, Experiment, optionalJson<Revision>()),
  resume: post(`${E}/{id}/resume/`, Experiment),
  copy: post(`${E}/{id}/copy`, Experiment),
  stop: post(`${E}/{id}/stop`, Nothing),
  statuses: get(`${E}/{id}/statuses`, Statuses),
  metrics: get(`${E}/{id}/metrics`, Metrics),
  createMetric: post(`${E}/{id}/metrics`, Metric, json<NewMetric>()),
  jobs: get(`${E}/{id}/jobs`, ExperimentJobs),
  logs: get(`${E}/{id}/logs/`, Text),
  startTensorboard: post(`${E}/{id}/tensorboard/start`, Nothing),
  stopTensorboard: post(`${E}/{id}/tensorboard/stop`, Nothing),
  outputs: get(`${E}/{id}/outputs`, Bytes),
  job: get(`${E}/{experiment}/jobs/{id}/`, ExperimentJob),
  jobStatuses: get(`${E}/{experiment}/jobs/{id}/statuses/`, Statuses),
  bookmark: post(`${E}/{id}/bookmark/`, Nothing),
  unbookmark: del(`${E}/{id}/unbookmark/`, Nothing),
};

const J = "{owner}/{project}/jobs";

/** Jobs */
export const job = {
  read: get(`${J}/{id}/`, Job),
  update: patch(`${J}/{id}/`, Job, json<Revision>()),
  delete: del(`${J}/{id}/`, Nothing),
  statuses: get(`${J}/{id}/statuses/`, Statuses),
  restart: post(`${J}/{id}/restart`, Job),
  resume: post(`${J}/{id}/resume`, Job),
  copy: post(`${J}/{id}/copy`, Job),
  stop: post(`${J}/{id}/stop`, Nothing),
  logs: get(`${J}/{id}/logs`, Text),
  outputs: get(`${J}/{id}/outputs`, Bytes),
  bookmark: post(`${J}/{id}/bookmark/`, Nothing),
  unbookmark: del(`${J}/{id}/unbookmark/`, Nothing),
};

const B = "{owner}/{project}/builds";

/** Build jobs */
export const build = {
  read: get(`${B}/{id}/`, Build),
  update: patch(`${B}/{id}/`, Build, json<Revision>()),
  delete: del(`${B}/{id}/`, Nothing),
  statuses: get(`${B}/{id}/statuses`, Statuses),
  stop: post(`${B}/{id}/stop`, Nothing),
  logs: get(`${B}/{id}/logs`, Text),
  bookmark: post(`${B}/{id}/bookmark/`, Nothing),
  unbookmark: del(`${B}/{id}/unbookmark/`, Nothing),
};

const G = "{owner}/{project}/groups";

/** Experiment groups */
export const group = {
  read: get(`${G}/{id}/`, Group),
  update: patch(`${G}/{id}/`, Group, json<Revision>()),
  delete: del(`${G}/{id}/`, Nothing),
  stop: post(`${G}/{id}/stop`, Nothing),
  startTensorboard: post(`${G}/{id}/tensorboard/start`, Nothing),
  stopTensorboard: post(`${G}/{id}/tensorboard/stop`, Nothing),
  statuses: get(`${G}/{id}/statuses`, Statuses),
  bookmark: post(`${G}/{id}/bookmark/`, Nothing),
  unbookmark: del(`${G}/{id}/unbookmark/`, Nothing),
};

/** Cluster */
export const cluster = {
  read: get("cluster/", Cluster),
  node: get("nodes/{sequence}", Node),
};

/** User administration */
export const administration = {
  activate: post("users/activate/{username}/", Nothing),
  delete: del("users/delete/{username}/", Nothing),
  grant: post("superusers/grant/{username}/", Nothing),
  revoke: del("superusers/revoke/{username}/", Nothing),
};

/** All documented endpoints, by section. */
export const endpoints = { user, experiment, job, build, group, cluster, administration };

const P = "{owner}/{project}";

/** Endpoints that are not in the service's document. The profile tells which of them a server has. */
export const optional = {
  projects: get("{owner}", Projects),
  project: get(P, Project),
  experiments: get(`${P}/experiments`, Experiments),
  jobs: get(`${P}/jobs`, Jobs),
  builds: get(`${P}/builds`, Builds),
  groups: get(`${P}/groups`, Groups),
  groupMetrics: get(`${P}/groups/{id}/metrics`, Metrics),
  codeReference: get(`${P}/experiments/{id}/coderef`, CodeReference),
  experimentJobLogs: get(`${P}/experiments/{experiment}/jobs/{id}/logs`, Text),
  bookmarkedExperiments: get("bookmarks/{owner}/experiments", BookmarkedExperiments),
  bookmarkedJobs: get("bookmarks/{owner}/jobs", BookmarkedJobs),
  bookmarkedBuilds: get("bookmarks/{owner}/builds", BookmarkedBuilds),
  bookmarkedGroups: get("bookmarks/{owner}/groups", BookmarkedGroups),
  bookmarkedProjects: get("bookmarks/{owner}/projects", BookmarkedProjects),
  archivedExperiments: get("archives/{owner}/experiments", Experiments),
  archivedJobs: get("archives/{owner}/jobs", Jobs),
  archivedBuilds: get("archives/{owner}/builds", Builds),
  archivedGroups: get("archives/{owner}/groups", Groups),
  archivedProjects: get("archives/{owner}/projects", Projects),
  archiveExperiment: post(`${E}/{id}/archive`, Nothing),
  archiveJob: post(`${J}/{id}/archive`, Nothing),
  archiveBuild: post(`${B}/{id}/archive`, Nothing),
  archiveGroup: post(`${G}/{id}/archive`, Nothing),
  restoreExperiment: post(`${E}/{id}/restore`, Nothing),
  restoreJob: post(`${J}/{id}/restore`, Nothing),
  restoreBuild: post(`${B}/{id}/restore`, Nothing),
  restoreGroup: post(`${G}/{id}/restore`, Nothing),
};
