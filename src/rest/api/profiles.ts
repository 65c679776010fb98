import type * as z from "zod";
import { extend, type Profile, type ProfileName, WrittenProfile } from "./profile.ts";
import { GROUP_COUNTERS } from "./records.ts";

/** The server of the service's document. */
const document: Profile = {
  basePath: "/api/v1/",
  apiVersion: "v1",
  authorization: { scheme: "token" },
  endpoints: {},
  envelope: { items: "results", count: "count", next: "next" },
  paging: {
    by: "link",
    parameters: { limit: "size", offset: "offset", page: "page", page_size: "size", cursor: "cursor" },
  },
  orders: {
    UPDATED_DESC: null,
    UPDATED_ASC: null,
    CREATED_DESC: null,
    CREATED_ASC: null,
    STARTED_DESC: null,
    STARTED_ASC: null,
    FINISHED_DESC: null,
    FINISHED_ASC: null,
  },
  metricOrders: { ASC: null, DESC: null },
  filters: { query: null, language: null, group: null, ids: null },
  omittedInLists: { experiments: [], jobs: [], builds: [], groups: [] },
  omitted: {
    experiments: ["cloning_strategy", "backend", "framework", "run_env", "data_refs", "readme"],
    experimentJobs: ["pod_id", "definition"],
    jobs: ["cloning_strategy", "pod_id", "data_refs", "readme"],
    builds: ["pod_id", "backend"],
    groups: ["group_type", "readme"],
    projects: [],
  },
  inputs: {
    update: { description: "description", name: null, tags: null, readme: null },
    restart: { description: null, declarations: null, updateCode: null },
  },
};

const polyaxon02: WrittenProfile = {
  extends: "document",
  endpoints: {
    job: { resume: null, copy: null },
    administration: { revoke: "POST superusers/revoke/{username}/" },
    optional: {
      projects: "GET {owner}",
      project: "GET {owner}/{project}",
      experiments: "GET {owner}/{project}/experiments",
      jobs: "GET {owner}/{project}/jobs",
      builds: "GET {owner}/{project}/builds",
      groups: "GET {owner}/{project}/groups",
      bookmarkedExperiments: "GET bookmarks/{owner}/experiments",
      bookmarkedJobs: "GET bookmarks/{owner}/jobs",
      bookmarkedBuilds: "GET bookmarks/{owner}/builds",
      bookmarkedGroups: "GET bookmarks/{owner}/groups",
      bookmarkedProjects: "GET bookmarks/{owner}/projects",
    },
  },
  paging: { by: "offset", parameter: "offset", size: "limit" },
  orders: {
    UPDATED_DESC: { sort: "-updated_at" },
    UPDATED_ASC: { sort: "updated_at" },
    CREATED_DESC: { sort: "-created_at" },
    CREATED_ASC: { sort: "created_at" },
    STARTED_DESC: { sort: "-started_at" },
    STARTED_ASC: { sort: "started_at" },
    FINISHED_DESC: { sort: "-finished_at" },
    FINISHED_ASC: { sort: "finished_at" },
  },
  metricOrders: { ASC: { sort: "metric.{metric}" }, DESC: { sort: "-metric.{metric}" } },
  filters: { query: "query", language: "polyaxon", group: "group" },
  omitted: { experimentJobs: ["pod_id"], projects: ["readme"] },
  inputs: {
    update: { name: "name", tags: "tags" },
    // A key `declarations` of the body itself is ignored.
    restart: { description: "description", declarations: "config.declarations", updateCode: "update_code" },
  },
};

const polyaxon04: WrittenProfile = {
  extends: "polyaxon-0.2",
  endpoints: {
    experiment: { outputs: "GET {owner}/{project}/experiments/{id}/outputs/download" },
    job: { outputs: "GET {owner}/{project}/jobs/{id}/outputs/download" },
    optional: {
      groupMetrics: "GET {owner}/{project}/groups/{id}/metrics",
      codeReference: "GET {owner}/{project}/experiments/{id}/coderef",
      experimentJobLogs: "GET {owner}/{project}/experiments/{experiment}/jobs/{id}/logs",
      archivedExperiments: "GET archives/{owner}/experiments",
      archivedJobs: "GET archives/{owner}/jobs",
      archivedBuilds: "GET archives/{owner}/builds",
      archivedGroups: "GET archives/{owner}/groups",
      archivedProjects: "GET archives/{owner}/projects",
      archiveExperiment: "POST {owner}/{project}/experiments/{id}/archive",
      archiveJob: "POST {owner}/{project}/jobs/{id}/archive",
      archiveBuild: "POST {owner}/{project}/builds/{id}/archive",
      archiveGroup: "POST {owner}/{project}/groups/{id}/archive",
      restoreExperiment: "POST {owner}/{project}/experiments/{id}/restore",
      restoreJob: "POST {owner}/{project}/jobs/{id}/restore",
      restoreBuild: "POST {owner}/{project}/builds/{id}/restore",
      restoreGroup: "POST {owner}/{project}/groups/{id}/restore",
    },
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
  omitted: { experiments: [], experimentJobs: [], jobs: [], builds: [], groups: [], projects: [] },
  inputs: { update: { readme: "readme" } },
};

const BUILT_IN: Readonly<Record<ProfileName, WrittenProfile>> = {
  document: {},
  "polyaxon-0.2": polyaxon02,
  "polyaxon-0.4": polyaxon04,
};

export const builtInProfile = (name: ProfileName): Profile =>
  name === "document" ? document : wholeProfile(WrittenProfile.parse(BUILT_IN[name]));

/** Completes a written profile with the profile that it extends. */
export function wholeProfile(written: z.output<typeof WrittenProfile>): Profile {
  return extend(builtInProfile(written.extends ?? "document"), written);
}
