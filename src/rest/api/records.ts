import * as z from "zod";
import { converted } from "./as-is.ts";
import { bookmarksOf, pageOf } from "./page.ts";
import { type AnswerOf, json, jsonWithList } from "./reader.ts";
import { Config, configOf, Content, type RunConfig } from "./run-config.ts";
import {
  byName,
  flag,
  id,
  integer,
  list,
  number,
  object,
  Raw,
  records,
  requiredText,
  text,
  texts,
  timestamp,
  unstated,
  type WithRaw,
} from "./values.ts";

/*
 * One reader per record of the document's "Resources and their fields", with keys in its order and spelling; keys of newer
 * servers come last. Only `id` is required: missing keys stay absent, values of a wrong type read as null, unknown keys are
 * ignored. So `key in record` tells whether the key was received.
 */

/** Keys of all four kinds of run and of experiment jobs. */
const Tracked = {
  id,
  uuid: text,
  unique_name: text,
  created_at: timestamp,
  updated_at: timestamp,
  started_at: timestamp,
  finished_at: timestamp,
  last_status: text,
};
const Runnable = {
  ...Tracked,
  name: text,
  user: text,
  description: text,
  project: text,
  tags: texts,
  bookmarked: flag,
};
export type TrackedRecord = z.output<z.ZodObject<typeof Tracked>>;
export type RunnableRecord = z.output<z.ZodObject<typeof Runnable>>;

interface NewerKeys {
  readonly config?: RunConfig | null | undefined;
  readonly content?: z.output<typeof Content>;
  readonly declarations?: unknown;
  readonly params?: unknown;
}

/**
 * Maps newer keys to the documented ones: newer servers send `config` as text in `content`, and `declarations` as
 * `params`. The documented key wins when both are present; with neither it stays absent.
 */
function withDocumentedKeys<Record extends NewerKeys>(record: Record): Record {
  const { content, params } = record;
  if (content === undefined && params === undefined) return record;
  return {
    ...record,
    ...("config" in record || content === undefined ? {} : { config: configOf(content) }),
    ...("declarations" in record || params === undefined ? {} : { declarations: params }),
  };
}

const ExperimentSchema = converted(
  z.object({
    ...Runnable,
    original: text,
    experiment_group: text,
    build_job: text,
    config: Config,
    content: Content,
    declarations: unstated,
    params: unstated,
    resources: unstated,
    last_metric: byName,
    num_jobs: integer,
    is_clone: flag,
    has_tensorboard: flag,
    cloning_strategy: text,
    backend: text,
    framework: text,
    run_env: unstated,
    data_refs: unstated,
    readme: text,
  }),
  withDocumentedKeys,
);
export type ExperimentRecord = z.output<typeof ExperimentSchema>;

/** A status of any kind. The key that refers to the run differs by kind and is not read. */
const StatusSchema = z.object({
  id,
  uuid: text,
  created_at: timestamp,
  message: text,
  status: text,
  details: unstated,
  traceback: text,
});
export type StatusRecord = z.output<typeof StatusSchema>;

const MetricSchema = z.object({ id, created_at: timestamp, values: byName, experiment: integer });
export type MetricRecord = z.output<typeof MetricSchema>;

const ExperimentJobSchema = z.object({
  ...Tracked,
  role: text,
  experiment: integer,
  resources: unstated,
  node_scheduled: text,
  pod_id: text,
  definition: unstated,
});
export type ExperimentJobRecord = z.output<typeof ExperimentJobSchema>;

const JobSchema = converted(
  z.object({
    ...Runnable,
    build_job: text,
    is_clone: flag,
    original: text,
    config: Config,
    content: Content,
    resources: unstated,
    node_scheduled: text,
    cloning_strategy: text,
    pod_id: text,
    data_refs: unstated,
    readme: text,
  }),
  withDocumentedKeys,
);
export type JobRecord = z.output<typeof JobSchema>;
export type CloneableRecord = Pick<JobRecord, "is_clone" | "cloning_strategy">;

const BuildSchema = converted(
  z.object({
    ...Runnable,
    config: Config,
    content: Content,
    resources: unstated,
    node_scheduled: text,
    num_jobs: integer,
    num_experiments: integer,
    dockerfile: text,
    commit: text,
    pod_id: text,
    backend: text,
  }),
  withDocumentedKeys,
);
export type BuildRecord = z.output<typeof BuildSchema>;

const Hptuning = z.object({
  early_stopping: unstated,
  concurrency: integer,
  seed: unstated,
  matrix: byName,
  random_search: z.object({ n_experiments: integer }).nullish(),
});
export type HptuningRecord = WithRaw<z.output<typeof Hptuning>>;

/** Parses the settings of a hyperparameter search. */
export const openHptuning = (raw: Readonly<Record<string, unknown>>): HptuningRecord =>
  new Raw(Hptuning, raw);

const GroupSchema = z.object({
  ...Runnable,
  concurrency: integer,
  search_algorithm: text,
  current_iteration: integer,
  content: text,
  hptuning: object,
  has_tensorboard: flag,
  num_experiments: integer,
  num_pending_experiments: integer,
  num_running_experiments: integer,
  num_scheduled_experiments: integer,
  num_succeeded_experiments: integer,
  num_failed_experiments: integer,
  num_stopped_experiments: integer,
  group_type: text,
  readme: text,
});
export type GroupRecord = z.output<typeof GroupSchema>;
/** Numbers of a group's experiments by state. List items omit them. */
export const GROUP_COUNTERS = [
  "num_experiments",
  "num_pending_experiments",
  "num_running_experiments",
  "num_scheduled_experiments",
  "num_succeeded_experiments",
  "num_failed_experiments",
  "num_stopped_experiments",
] as const satisfies readonly (keyof GroupRecord)[];

/** The name is required because it identifies the node. */
const NodeSchema = z.object({
  uuid: text,
  sequence: integer,
  name: requiredText,
  hostname: text,
  role: text,
  /** Bytes; above 32 bits. */
  memory: number,
  cpu: number,
  n_gpus: integer,
  gpus: list,
  docker_version: text,
  kubelet_version: text,
  os_image: text,
  kernel_version: text,
  schedulable_taints: flag,
  schedulable_state: flag,
  status: text,
  is_current: flag,
});
/** The cluster's summaries are nodes without the detail keys. If they have some, those are checked as well. */
export type NodeRecord = z.output<typeof NodeSchema>;

const ClusterSchema = z.object({
  uuid: text,
  version_api: z
    .object({
      major: text,
      minor: text,
      go_version: text,
      platform: text,
      git_version: text,
      compiler: text,
      build_date: text,
      git_commit: text,
      git_tree_state: text,
    })
    .nullish(),
  created_at: timestamp,
  updated_at: timestamp,
  nodes: records.nullish(),
});

const UserSchema = z.object({ username: text, email: text, is_superuser: flag });
export type UserRecord = z.output<typeof UserSchema>;

export const Experiment = json(ExperimentSchema);
export const Metric = json(MetricSchema);
export const Metrics = pageOf(MetricSchema);
export const ExperimentJob = json(ExperimentJobSchema);
export const ExperimentJobs = pageOf(ExperimentJobSchema);
export const Job = json(JobSchema);
export const Statuses = pageOf(StatusSchema);
export const Build = json(BuildSchema);
export const Group = json(GroupSchema);
export const Cluster = jsonWithList(ClusterSchema, "nodes", NodeSchema);
export type ClusterRecord = AnswerOf<typeof Cluster>;
export const Node = json(NodeSchema);
export const User = json(UserSchema);
export const Experiments = pageOf(ExperimentSchema);
export const Jobs = pageOf(JobSchema);
export const Builds = pageOf(BuildSchema);
export const Groups = pageOf(GroupSchema);

export const BookmarkedExperiments = bookmarksOf(ExperimentSchema);
export const BookmarkedJobs = bookmarksOf(JobSchema);
export const BookmarkedBuilds = bookmarksOf(BuildSchema);
export const BookmarkedGroups = bookmarksOf(GroupSchema);

export const Token = json(z.object({ token: z.string().min(1) }));

/** The keys of runs, by list. */
export const RUN_KEYS = {
  experiments: ExperimentSchema.in.keyof(),
  jobs: JobSchema.in.keyof(),
  builds: BuildSchema.in.keyof(),
  groups: GroupSchema.keyof(),
};

export const EXPERIMENT_JOB_KEYS = ExperimentJobSchema.keyof();

const knownKeys: ReadonlySet<string> = new Set(Object.values(RUN_KEYS).flatMap(({ options }) => options));

/** Whether a key of a run's record is read. Records keep others as received. */
export const isKnownKey = (key: string): boolean => knownKeys.has(key);
