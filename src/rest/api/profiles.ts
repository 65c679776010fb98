import type * as z from "zod";
import { spellingOf } from "./endpoint.ts";
import { optionalEndpoints, runs } from "./kinds.ts";
import { extend, Orders, type Profile, type ProfileName, WrittenProfile } from "./profile.ts";
import { mapped } from "./record.ts";
import { GROUP_COUNTERS } from "./records.ts";

/** Creates the overrides which say that a server has these optional endpoints, with their default methods and paths. */
const withOptional = (names: string) =>
  Object.fromEntries(
    Object.entries(optionalEndpoints).flatMap(([name, endpoint]) =>
      names.split(" ").includes(name) ? [[name, spellingOf(endpoint)]] : [],
    ),
  );

/** A server that matches the service's document: with all of its endpoints and no optional ones. */
const document: Profile = {
  basePath: "/api/v1/",
  apiVersion: "v1",
  timeZone: null,
  authorization: { scheme: "token" },
  endpoints: {},
  paging: {
    by: "link",
    parameters: { limit: "size", offset: "offset", page: "page", page_size: "size", cursor: "cursor" },
  },
  orders: mapped(Orders.shape, () => null),
  metricOrders: { ASC: null, DESC: null },
  filters: { query: null, language: null, group: null, ids: null },
  omittedInLists: {},
  omitted: {
    experiments: ["cloning_strategy", "framework", "run_env", "data_refs", "readme"],
    jobs: ["cloning_strategy", "data_refs", "readme"],
    groups: ["group_type", "readme"],
  },
  rateLimits: [],
  inputs: {
    update: { description: "description", name: null, tags: null, readme: null },
    restart: { description: null, parameters: null, updateCode: null },
    createExperiment: { group: null },
    createJob: { tags: null },
    createGroup: { experiments: null },
    createBuild: { section: null },
  },
};

const polyaxon02: WrittenProfile = {
  extends: "document",
  // The server's default rate limit per user, over the whole API.
  rateLimits: [{ requests: 120, seconds: 60 }],
  endpoints: {
    job: { resume: null, copy: null },
    administration: { revoke: "POST superusers/revoke/{username}/" },
    optional: withOptional(
      // The endpoint of a single project is omitted on purpose: the server joins all runs of the project to count them, and never responds
      // for a project with many runs.
      "projects experiments jobs builds groups bookmarkedExperiments bookmarkedJobs bookmarkedBuilds bookmarkedGroups bookmarkedProjects createProject updateProject deleteProject createExperiment createJob createBuild createGroup",
    ),
  },
  paging: { by: "offset", parameter: "offset", size: "limit" },
  // The server may return runs with equal values in any order, so pages would overlap. A second date makes equal values rare.
  orders: {
    DEFAULT: { sort: "-updated_at,-created_at" },
    UPDATED_DESC: { sort: "-updated_at,-created_at" },
    UPDATED_ASC: { sort: "updated_at,-created_at" },
    CREATED_DESC: { sort: "-created_at,-updated_at" },
    CREATED_ASC: { sort: "created_at,-updated_at" },
    STARTED_DESC: { sort: "-started_at,-created_at" },
    STARTED_ASC: { sort: "started_at,-created_at" },
    FINISHED_DESC: { sort: "-finished_at,-created_at" },
    FINISHED_ASC: { sort: "finished_at,-created_at" },
  },
  metricOrders: {
    ASC: { sort: "metric.{metric},-created_at" },
    DESC: { sort: "-metric.{metric},-created_at" },
  },
  filters: { query: "query", language: "polyaxon", group: "group" },
  omitted: { projects: ["readme"] },
  inputs: {
    update: { name: "name", tags: "tags" },
    // The server ignores a key `declarations` at the top of the body.
    restart: { description: "description", parameters: "config.declarations", updateCode: "update_code" },
    createBuild: { section: "build" },
  },
};

const polyaxon04: WrittenProfile = {
  extends: "polyaxon-0.2",
  // Each process of the server counts requests for metrics separately.
  rateLimits: [
    { requests: 120, seconds: 60 },
    { endpoints: ["experiment.metrics", "experiment.createMetric"], requests: 20, seconds: 1 },
  ],
  endpoints: {
    experiment: { outputs: "GET {owner}/{project}/experiments/{id}/outputs/download" },
    job: { outputs: "GET {owner}/{project}/jobs/{id}/outputs/download" },
    optional: withOptional(
      "project groupMetrics codeReference stopExperiments deleteExperiments experimentJobLogs experimentOutputFolder experimentOutputFile jobOutputFolder jobOutputFile archivedExperiments archivedJobs archivedBuilds archivedGroups archivedProjects archiveExperiment archiveJob archiveBuild archiveGroup restoreExperiment restoreJob restoreBuild restoreGroup bookmarkProject unbookmarkProject archiveProject restoreProject",
    ),
  },
  filters: { ids: { parameter: "query", value: "id:{ids}", separator: "|", max: 100 } },
  omittedInLists: {
    experiments: [
      "config",
      "resources",
      "num_jobs",
      "is_clone",
      "has_tensorboard",
      "run_env",
      "data_refs",
      "readme",
    ],
    jobs: ["config", "is_clone", "resources", "node_scheduled", "data_refs", "readme"],
    builds: ["config", "resources", "node_scheduled", "num_jobs", "num_experiments", "dockerfile", "commit"],
    groups: ["content", "hptuning", "current_iteration", "has_tensorboard", "readme", ...GROUP_COUNTERS],
  },
  omitted: { experiments: [], jobs: [], groups: [], projects: [] },
  inputs: {
    update: { readme: "readme" },
    createExperiment: { group: "experiment_group" },
    createJob: { tags: "tags" },
    createGroup: { experiments: "experiment_ids" },
    createBuild: { section: null },
  },
};

/** The demo service: it behaves like release 0.4, but has all endpoints of the document and no rate limit. */
const demo: WrittenProfile = {
  extends: "polyaxon-0.4",
  timeZone: "UTC",
  rateLimits: [],
  endpoints: {
    job: { resume: spellingOf(runs.job.endpoints.resume), copy: spellingOf(runs.job.endpoints.copy) },
  },
};

/** The keys that list items lack on known servers, by the name of their records. */
export const OMITTED_IN_LISTS: Readonly<Record<string, readonly string[] | undefined>> =
  polyaxon04.omittedInLists ?? {};

export type BuiltInName = ProfileName | "demo";

const BUILT_IN: Readonly<Record<Exclude<BuiltInName, "document">, WrittenProfile>> = {
  demo,
  "polyaxon-0.2": polyaxon02,
  "polyaxon-0.4": polyaxon04,
};

export function builtInProfile(name: BuiltInName): Profile {
  return name === "document" ? document : wholeProfile(WrittenProfile.parse(BUILT_IN[name]));
}

export function wholeProfile(written: z.output<typeof WrittenProfile>): Profile {
  return extend(builtInProfile(written.extends ?? "document"), written);
}
