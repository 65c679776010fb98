import { type AnyEndpoint, del, get, json, optional, patch, post } from "./endpoint.ts";
import { commonOptional, outputOptional, P, type RecordKind, type Revision, type RunKind } from "./kind.ts";
import { project } from "./project.ts";
import { Bytes, Nothing, Text } from "./reader.ts";
import * as records from "./records.ts";
import { EXPERIMENT } from "./reference.ts";

/*
 * All kinds of record: one row each. A row has the endpoints of its section of the service's document, "Endpoints", in the
 * document's order and spelling, and what shared code needs to know about the kind. Profiles, the GraphQL kinds, their
 * lists, their common mutations and `runsUpdated` derive from the rows.
 *
 * Paths are relative to `{base_url}/api/v1/`; the document's {u} and {p} are {owner} and {project}. Three endpoints call
 * the record's id {experiment_id} or {job_id} there; here it is always {id}, so that every mutation works with every
 * endpoint.
 */

/** Auth and current user */
export const user = {
  login: post("users/token/", records.Token, {
    ...json<{ readonly username: string; readonly password: string }>(),
    anonymous: true,
    secretOf: ({ password }) => password,
  }),
  me: get("users/", records.User),
};

/** The body of a command for several records of a project, whose ids are texts of digits. */
const ids = () => ({ body: (given: readonly string[]) => `{"ids": [${given.join(", ")}]}` });

const E = `${P}/experiments` as const;
const J = `${P}/jobs` as const;
const B = `${P}/builds` as const;
const G = `${P}/groups` as const;

/** The kinds of run, by what profiles call the section of their endpoints. */
export const runs = {
  experiment: {
    name: "Experiment",
    one: "an experiment",
    many: "experiments",
    records: "experiments",
    keys: records.RUN_KEYS.experiments,
    reference: { ...EXPERIMENT, alias: "experiments" },
    example: "42",
    endpoints: {
      read: get(`${E}/{id}/`, records.Experiment),
      update: patch(`${E}/{id}/`, records.Experiment, json<Revision>()),
      delete: del(`${E}/{id}/`, Nothing),
      restart: post(`${E}/{id}/restart/`, records.Experiment, json<Revision | undefined>()),
      resume: post(`${E}/{id}/resume/`, records.Experiment),
      copy: post(`${E}/{id}/copy`, records.Experiment),
      stop: post(`${E}/{id}/stop`, Nothing),
      statuses: get(`${E}/{id}/statuses`, records.Statuses),
      metrics: get(`${E}/{id}/metrics`, records.Metrics),
      createMetric: post(
        `${E}/{id}/metrics`,
        records.Metric,
        json<{ readonly values: Readonly<Record<string, number>> }>(),
      ),
      jobs: get(`${E}/{id}/jobs`, records.ExperimentJobs),
      logs: get(`${E}/{id}/logs/`, Text),
      startTensorboard: post(`${E}/{id}/tensorboard/start`, Nothing),
      stopTensorboard: post(`${E}/{id}/tensorboard/stop`, Nothing),
      outputs: get(`${E}/{id}/outputs`, Bytes),
      job: get(`${E}/{experiment}/jobs/{id}/`, records.ExperimentJob),
      jobStatuses: get(`${E}/{experiment}/jobs/{id}/statuses/`, records.Statuses),
      bookmark: post(`${E}/{id}/bookmark/`, Nothing),
      unbookmark: del(`${E}/{id}/unbookmark/`, Nothing),
    },
    optional: {
      ...commonOptional("experiment", "experiments", records.readExperiment),
      ...outputOptional("experiment", "experiments"),
      codeReference: optional(
        "codeReference",
        "CODE_REFERENCES",
        get(`${E}/{id}/coderef`, records.CodeReference),
      ),
      stopMany: optional("stopExperiments", "BULK_COMMANDS", post(`${E}/stop`, Nothing, ids())),
      deleteMany: optional("deleteExperiments", "BULK_COMMANDS", del(`${E}/delete`, Nothing, ids())),
    },
  },
  job: {
    name: "Job",
    one: "a job",
    many: "jobs",
    records: "jobs",
    keys: records.RUN_KEYS.jobs,
    reference: { infix: "jobs" },
    example: "3",
    endpoints: {
      read: get(`${J}/{id}/`, records.Job),
      update: patch(`${J}/{id}/`, records.Job, json<Revision>()),
      delete: del(`${J}/{id}/`, Nothing),
      statuses: get(`${J}/{id}/statuses/`, records.Statuses),
      restart: post(`${J}/{id}/restart`, records.Job),
      resume: post(`${J}/{id}/resume`, records.Job),
      copy: post(`${J}/{id}/copy`, records.Job),
      stop: post(`${J}/{id}/stop`, Nothing),
      logs: get(`${J}/{id}/logs`, Text),
      outputs: get(`${J}/{id}/outputs`, Bytes),
      bookmark: post(`${J}/{id}/bookmark/`, Nothing),
      unbookmark: del(`${J}/{id}/unbookmark/`, Nothing),
    },
    optional: {
      ...commonOptional("job", "jobs", records.readJob),
      ...outputOptional("job", "jobs"),
    },
  },
  build: {
    name: "BuildJob",
    one: "a build job",
    many: "build jobs",
    records: "builds",
    keys: records.RUN_KEYS.builds,
    reference: { infix: "builds" },
    example: "9",
    endpoints: {
      read: get(`${B}/{id}/`, records.Build),
      update: patch(`${B}/{id}/`, records.Build, json<Revision>()),
      delete: del(`${B}/{id}/`, Nothing),
      statuses: get(`${B}/{id}/statuses`, records.Statuses),
      stop: post(`${B}/{id}/stop`, Nothing),
      logs: get(`${B}/{id}/logs`, Text),
      bookmark: post(`${B}/{id}/bookmark/`, Nothing),
      unbookmark: del(`${B}/{id}/unbookmark/`, Nothing),
    },
    optional: commonOptional("build", "builds", records.readBuild),
  },
  group: {
    name: "Group",
    one: "a group",
    many: "groups",
    manyInFull: "groups of experiments",
    records: "groups",
    keys: records.RUN_KEYS.groups,
    reference: { infix: null, alias: "groups" },
    example: "5",
    endpoints: {
      read: get(`${G}/{id}/`, records.Group),
      update: patch(`${G}/{id}/`, records.Group, json<Revision>()),
      delete: del(`${G}/{id}/`, Nothing),
      stop: post(`${G}/{id}/stop`, Nothing),
      startTensorboard: post(`${G}/{id}/tensorboard/start`, Nothing),
      stopTensorboard: post(`${G}/{id}/tensorboard/stop`, Nothing),
      statuses: get(`${G}/{id}/statuses`, records.Statuses),
      bookmark: post(`${G}/{id}/bookmark/`, Nothing),
      unbookmark: del(`${G}/{id}/unbookmark/`, Nothing),
    },
    optional: {
      ...commonOptional("group", "groups", records.readGroup),
      metrics: optional("groupMetrics", null, get(`${G}/{id}/metrics`, records.Metrics)),
    },
  },
} as const;

/** Cluster */
export const cluster = {
  read: get("cluster/", records.Cluster),
  node: get("nodes/{sequence}", records.Node),
};

/** User administration */
export const administration = {
  activate: post("users/activate/{username}/", Nothing),
  delete: del("users/delete/{username}/", Nothing),
  grant: post("superusers/grant/{username}/", Nothing),
  revoke: del("superusers/revoke/{username}/", Nothing),
};

/** Jobs of experiments, which have their endpoints in the section of the experiments. */
export const experimentJob = {
  records: "experimentJobs",
  keys: records.EXPERIMENT_JOB_KEYS,
  optional: {
    logs: optional("experimentJobLogs", "EXPERIMENT_JOB_LOGS", get(`${E}/{experiment}/jobs/{id}/logs`, Text)),
  },
} as const;

/** The rows of all kinds of run, each checked by the compiler to be complete. */
export const runKinds: readonly RunKind[] = Object.values(runs);

/** The endpoint that lists a kind of run; undefined without one. */
export const listOf = <R extends records.RunnableRecord>({ endpoints, optional: further }: RunKind<R>) =>
  endpoints.list ?? further?.list;

/** The kinds whose records profiles describe. */
export const recordKinds: readonly RecordKind[] = [...runKinds, experimentJob, project];

/** The endpoints that are not in the document, by their names in profiles. */
export const optionalEndpoints: Readonly<Record<string, AnyEndpoint>> = Object.fromEntries(
  recordKinds.flatMap(({ optional: further = {} }) =>
    Object.values(further).flatMap((endpoint) =>
      endpoint?.optional ? [[endpoint.optional.name, endpoint] as const] : [],
    ),
  ),
);

/** All endpoints, by section and name as in profiles: the sections of the document in its order, then `optional`. */
export const sections: Readonly<Record<string, Readonly<Record<string, AnyEndpoint>>>> = {
  user,
  ...Object.fromEntries(Object.entries(runs).map(([name, { endpoints }]) => [name, endpoints])),
  cluster,
  administration,
  optional: optionalEndpoints,
};
