import {
  type AnyEndpoint,
  capable,
  type Command,
  del,
  type Get,
  get,
  json,
  optional,
  patch,
  post,
} from "./endpoint.ts";
import { bookmarksOf, Bytes, Nothing, type Page, pageOf, type Reader, Text } from "./reader.ts";
import type { RecordDecoder } from "./record.ts";
import * as records from "./records.ts";
import { EXPERIMENT, type RunAddress, type Spelling } from "./reference.ts";

/*
 * All kinds of record, one row each. A row has the endpoints of the kind, in the order and spelling of the section "Endpoints" of the
 * service's document, and the details of the kind that shared code needs. Profiles, the GraphQL kinds, their lists, their common mutations
 * and `runsUpdated` are derived from the rows. Paths are relative to `{base_url}/api/v1/`. The document's {u} and {p} are {owner} and
 * {project} here. Three endpoints of the document call the record's id {experiment_id} or {job_id}. Here it is always {id}, so that every
 * mutation works with every endpoint.
 */

/** The body of an update, a restart or a creation. The profile defines which keys a server accepts. */
export type Revision = Readonly<Record<string, unknown>>;

/** Endpoints by their names in profiles. */
type Named = Readonly<Record<string, AnyEndpoint | undefined>>;
/** Commands without a body and without a response. */
type ActName = "delete" | "stop" | "startTensorboard" | "stopTensorboard" | "bookmark" | "unbookmark";

/** A kind whose records profiles describe. */
export interface RecordKind {
  /** Name of the kind's lists and records in profiles. */
  readonly records: string;
  readonly keys: readonly string[];
  readonly optional?: Named;
}

/** A kind of run, whose records are addressed by owner, project and id. */
export interface RunKind<out R extends records.RunnableRecord = records.RunnableRecord> extends RecordKind {
  /** The name of the GraphQL type, also used in global ids. */
  readonly name: string;
  /** The noun for one run of this kind, with its article, for descriptions. `many`: the noun for several. */
  readonly one: string;
  readonly many: string;
  /** Replaces `many` where `many` would be unclear. */
  readonly manyInFull?: string;
  /** The spelling of references to runs of this kind. `example`: the id in example references. */
  readonly reference: Spelling;
  readonly example: string;
  /** The endpoints of the service's document. Only the ones that several kinds have are declared here. */
  readonly endpoints: Named & {
    readonly read: Get<RunAddress, R>;
    readonly list?: Get<Pick<RunAddress, "owner" | "project">, Page<R>>;
    readonly statuses?: Get<RunAddress, Page<records.StatusRecord>>;
    readonly logs?: Get<RunAddress, undefined>;
    readonly outputs?: Get<RunAddress, undefined>;
    readonly update?: Command<RunAddress, R, Revision>;
    readonly resume?: Command<RunAddress, R>;
    readonly copy?: Command<RunAddress, R>;
  } & { readonly [Name in ActName]?: Command<RunAddress, undefined> };
  readonly optional?: Named &
    Partial<ReturnType<typeof commonOptional<R>>> &
    Partial<ReturnType<typeof outputOptional>>;
}

export const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const P = "{owner}/{project}";

/** The optional endpoints of all kinds of run: `createJob`, `jobs`, `bookmarkedJobs`, `archivedJobs`, `archiveJob`, `restoreJob`. */
const commonOptional = <R>(
  one: string,
  many: string,
  read: RecordDecoder<R>,
  created: Reader<records.CreatedRecord> = records.Created,
) => ({
  create: optional(`create${capital(one)}`, "CREATE_RUNS", post(`${P}/${many}`, created, json<Revision>())),
  list: optional(many, "LISTS", get(`${P}/${many}`, pageOf(read))),
  ...keptOptional(many, read),
  archive: optional(`archive${capital(one)}`, "ARCHIVES", post(`${P}/${many}/{id}/archive`, Nothing)),
  restore: optional(`restore${capital(one)}`, "ARCHIVES", post(`${P}/${many}/{id}/restore`, Nothing)),
});

/** The endpoints of bookmarks and archives: `bookmarkedJobs`, `archivedJobs`. */
const keptOptional = <R>(many: string, read: RecordDecoder<R>) => ({
  bookmarked: optional(
    `bookmarked${capital(many)}`,
    "BOOKMARKS",
    get(`bookmarks/{owner}/${many}`, bookmarksOf(read)),
  ),
  archived: optional(`archived${capital(many)}`, "ARCHIVES", get(`archives/{owner}/${many}`, pageOf(read))),
});

/** The optional endpoints of kinds with outputs: `jobOutputFolder`, `jobOutputFile`. Both endpoints take the query parameter `path`. */
const outputOptional = (one: string, many: string) => ({
  outputFolder: optional(
    `${one}OutputFolder`,
    "OUTPUT_FILES",
    get(`${P}/${many}/{id}/outputs/tree`, records.OutputFolder),
  ),
  outputFile: optional(`${one}OutputFile`, "OUTPUT_FILES", get(`${P}/${many}/{id}/outputs/files`, Bytes)),
});

export const user = {
  login: post("users/token/", records.Token, {
    ...json<{ readonly username: string; readonly password: string }>(),
    anonymous: true,
    secretOf: ({ password }) => password,
  }),
  me: get("users/", records.User),
};

/** The body of a command for several records of a project, whose ids are strings of digits. */
const ids = () => ({ body: (given: readonly string[]) => `{"ids": [${given.join(", ")}]}` });

const E = `${P}/experiments` as const;
const J = `${P}/jobs` as const;
const B = `${P}/builds` as const;
const G = `${P}/groups` as const;

/** The kinds of run, by the names of their sections in profiles. */
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
      unbookmark: del(`${E}/{id}/unbookmark/`, Nothing, { undoes: true }),
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
      resume: capable("JOB_RESUME", post(`${J}/{id}/resume`, records.Job)),
      copy: capable("JOB_COPY", post(`${J}/{id}/copy`, records.Job)),
      stop: post(`${J}/{id}/stop`, Nothing),
      logs: get(`${J}/{id}/logs`, Text),
      outputs: get(`${J}/{id}/outputs`, Bytes),
      bookmark: post(`${J}/{id}/bookmark/`, Nothing),
      unbookmark: del(`${J}/{id}/unbookmark/`, Nothing, { undoes: true }),
    },
    optional: { ...commonOptional("job", "jobs", records.readJob), ...outputOptional("job", "jobs") },
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
      unbookmark: del(`${B}/{id}/unbookmark/`, Nothing, { undoes: true }),
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
      unbookmark: del(`${G}/{id}/unbookmark/`, Nothing, { undoes: true }),
    },
    optional: {
      ...commonOptional("group", "groups", records.readGroup, records.Group),
      metrics: optional("groupMetrics", null, get(`${G}/{id}/metrics`, records.Metrics)),
    },
  },
} as const;

export const cluster = {
  read: get("cluster/", records.Cluster),
  node: get("nodes/{sequence}", records.Node),
};

export const administration = {
  activate: post("users/activate/{username}/", Nothing),
  delete: del("users/delete/{username}/", Nothing),
  grant: post("superusers/grant/{username}/", Nothing),
  revoke: del("superusers/revoke/{username}/", Nothing),
};

/** Jobs of experiments. Their other endpoints are in the row of experiments. */
export const experimentJob = {
  records: "experimentJobs",
  keys: records.EXPERIMENT_JOB_KEYS,
  optional: {
    logs: optional("experimentJobLogs", "EXPERIMENT_JOB_LOGS", get(`${E}/{experiment}/jobs/{id}/logs`, Text)),
  },
} as const;

/** Projects, which the document does not describe. */
export const project = {
  records: "projects",
  keys: records.PROJECT_KEYS,
  optional: {
    list: optional("projects", "LISTS", get("{owner}", pageOf(records.readProject))),
    read: optional("project", "PROJECT_RECORDS", get(P, records.Project)),
    ...keptOptional("projects", records.readProject),
    bookmark: optional("bookmarkProject", "PROJECT_BOOKMARKS", post(`${P}/bookmark`, Nothing)),
    unbookmark: optional(
      "unbookmarkProject",
      "PROJECT_BOOKMARKS",
      del(`${P}/unbookmark`, Nothing, { undoes: true }),
    ),
    archive: optional("archiveProject", "PROJECT_ARCHIVES", post(`${P}/archive`, Nothing)),
    restore: optional("restoreProject", "PROJECT_ARCHIVES", post(`${P}/restore`, Nothing)),
    update: optional("updateProject", "PROJECT_COMMANDS", patch(P, records.Project, json<Revision>())),
    create: optional(
      "createProject",
      "PROJECT_COMMANDS",
      post("projects", records.CreatedProject, json<Revision>()),
    ),
    delete: optional("deleteProject", "PROJECT_COMMANDS", del(P, Nothing)),
  },
} as const;

/** The rows of all kinds of run. The type makes the compiler check that each row is complete. */
export const runKinds: readonly RunKind[] = Object.values(runs);

/** The endpoint that lists a kind of run; undefined without one. */
export const listOf = <R extends records.RunnableRecord>({ endpoints, optional: further }: RunKind<R>) =>
  endpoints.list ?? further?.list;

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

/** The name of a type with a small initial, as in field names: `buildJob`. */
export const uncapital = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** Joins names: `a job, a build job or a group`. */
export const either = (names: readonly string[]): string => names.join(", ").replace(/, ([^,]*)$/, " or $1");
