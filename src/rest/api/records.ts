import { type AnswerOf, json, jsonWithList, pageOf } from "./reader.ts";
import {
  byName,
  files,
  flag,
  id,
  integer,
  keysOf,
  nonEmptyText,
  number,
  object,
  recordOf,
  type RecordOf,
  records,
  requiredText,
  text,
  textOrObject,
  texts,
  timestamp,
  unstated,
} from "./record.ts";
import { configOf, type Content, runConfig, type RunConfig } from "./run-config.ts";

/*
 * One reader per record of "Resources and their fields" in the service's document, with the keys in the document's order and spelling. Keys
 * of newer servers come last. Only `id` is required. Missing keys stay absent, so `key in record` tests whether a key was received. Values
 * of a wrong type are replaced with null. Unknown keys are ignored.
 */

/** Keys of all kinds of run and of experiment jobs. */
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
  /** Whether the run is archived. Known servers send this key only in lists of archived runs. */
  deleted: flag,
};
export type TrackedRecord = RecordOf<typeof Tracked>;
export type RunnableRecord = RecordOf<typeof Runnable>;

interface NewerKeys {
  readonly config?: RunConfig | null | undefined;
  readonly content?: Content;
  readonly declarations?: unknown;
  readonly params?: unknown;
}

/**
 * Maps newer keys to the documented ones: newer servers send `config` as text in `content`, and `declarations` as `params`. If both keys
 * are present, the documented one takes precedence. If neither is, the documented key stays absent.
 */
function withDocumentedKeys<Record extends NewerKeys>(record: Record): Record {
  const { config, content, params } = record;
  if (content === undefined && params === undefined && typeof config !== "string") return record;
  const written = config === undefined ? content : config;
  return {
    ...(params !== undefined && { declarations: params }),
    ...record,
    ...(written !== undefined && { config: configOf(written) }),
  };
}

const ExperimentKeys = {
  ...Runnable,
  original: text,
  experiment_group: text,
  build_job: text,
  config: runConfig,
  content: textOrObject,
  declarations: unstated,
  params: unstated,
  resources: object,
  last_metric: byName,
  num_jobs: integer,
  is_clone: flag,
  has_tensorboard: flag,
  cloning_strategy: text,
  framework: text,
  run_env: unstated,
  data_refs: byName,
  readme: text,
};
export type ExperimentRecord = RecordOf<typeof ExperimentKeys>;

const CreatedKeys = {
  id,
  unique_name: text,
  name: text,
  description: text,
  tags: texts,
  declarations: unstated,
};
export type CreatedRecord = RecordOf<typeof CreatedKeys>;

/**
 * The record of a new run, reduced to the keys that have the same meaning as in the run's own record. Known servers also send some with
 * another meaning: the number of the group in place of its name, and the specification before values are inserted.
 */
export const Created = json(
  recordOf(CreatedKeys, (record) => {
    const keys = keysOf(CreatedKeys).filter((key) => key in record);
    // Safe: the id is always present.
    return Object.fromEntries(keys.map((key) => [key, record[key]])) as unknown as CreatedRecord;
  }),
);

/** A status of any kind. The key that refers to the run differs by kind and is not read. */
const StatusKeys = {
  id,
  uuid: text,
  created_at: timestamp,
  message: text,
  status: text,
  details: unstated,
  traceback: text,
};
export type StatusRecord = RecordOf<typeof StatusKeys>;

const MetricKeys = { id, created_at: timestamp, values: byName, experiment: integer };
export type MetricRecord = RecordOf<typeof MetricKeys>;

const ExperimentJobKeys = {
  ...Tracked,
  role: text,
  experiment: integer,
  resources: object,
  node_scheduled: text,
};
export type ExperimentJobRecord = RecordOf<typeof ExperimentJobKeys>;

const JobKeys = {
  ...Runnable,
  build_job: text,
  is_clone: flag,
  original: text,
  config: runConfig,
  content: textOrObject,
  resources: object,
  node_scheduled: text,
  cloning_strategy: text,
  data_refs: byName,
  readme: text,
};
export type JobRecord = RecordOf<typeof JobKeys>;
export type CloneableRecord = Omit<JobRecord, "node_scheduled">;

const BuildKeys = {
  ...Runnable,
  config: runConfig,
  content: textOrObject,
  resources: object,
  node_scheduled: text,
  num_jobs: integer,
  num_experiments: integer,
  dockerfile: text,
  commit: text,
};

/** Numbers of a group's experiments by state. List items lack these keys. */
const Counters = {
  num_experiments: integer,
  num_pending_experiments: integer,
  num_running_experiments: integer,
  num_scheduled_experiments: integer,
  num_succeeded_experiments: integer,
  num_failed_experiments: integer,
  num_stopped_experiments: integer,
};
export const GROUP_COUNTERS = keysOf(Counters);

const GroupKeys = {
  ...Runnable,
  concurrency: integer,
  search_algorithm: text,
  current_iteration: integer,
  content: text,
  hptuning: object,
  has_tensorboard: flag,
  ...Counters,
  group_type: text,
  readme: text,
};
export type GroupRecord = RecordOf<typeof GroupKeys>;

/** The name is required because it identifies the project. */
const ProjectKeys = {
  uuid: text,
  name: requiredText,
  unique_name: text,
  description: text,
  readme: text,
  tags: texts,
  is_public: flag,
  bookmarked: flag,
  deleted: flag,
  created_at: timestamp,
  updated_at: timestamp,
  num_experiments: integer,
  num_experiment_groups: integer,
  num_jobs: integer,
  num_builds: integer,
};
export type ProjectRecord = RecordOf<typeof ProjectKeys>;

/** The code that an experiment ran, as sent by an optional endpoint. For an experiment without code, the service sends empty strings. */
const CodeReferenceKeys = { branch: text, commit: text, head: text, is_dirty: flag, git_url: text };
export type CodeReferenceRecord = RecordOf<typeof CodeReferenceKeys>;

const OutputFolderKeys = { dirs: texts, files };
export type OutputFolderRecord = RecordOf<typeof OutputFolderKeys>;

/** The name is required because it identifies the node. */
const NodeKeys = {
  uuid: text,
  sequence: integer,
  name: requiredText,
  hostname: text,
  role: text,
  /** In bytes, which need more than 32 bits. */
  memory: number,
  cpu: number,
  n_gpus: integer,
  gpus: records,
  docker_version: text,
  kubelet_version: text,
  os_image: text,
  kernel_version: text,
  schedulable_taints: flag,
  schedulable_state: flag,
  status: text,
  is_current: flag,
};
/** A node, or its summary in the record of the cluster, which lacks the detail keys. Detail keys in a summary are checked as well. */
export type NodeRecord = RecordOf<typeof NodeKeys>;

const ClusterKeys = {
  uuid: text,
  version_api: {
    major: text,
    minor: text,
    go_version: text,
    platform: text,
    git_version: text,
    compiler: text,
    build_date: text,
    git_commit: text,
    git_tree_state: text,
  },
  created_at: timestamp,
  updated_at: timestamp,
  nodes: records,
};

const UserKeys = { username: text, email: text, is_superuser: flag };
export type UserRecord = RecordOf<typeof UserKeys>;

export const readExperiment = recordOf(ExperimentKeys, withDocumentedKeys);
const readMetric = recordOf(MetricKeys);
const readExperimentJob = recordOf(ExperimentJobKeys);
export const readJob = recordOf(JobKeys, withDocumentedKeys);
export const readBuild = recordOf(BuildKeys, withDocumentedKeys);
export const readGroup = recordOf(GroupKeys);
const readNode = recordOf(NodeKeys);
export const readProject = recordOf(ProjectKeys);

export const Experiment = json(readExperiment);
export const Metric = json(readMetric);
export const Metrics = pageOf(readMetric);
export const ExperimentJob = json(readExperimentJob);
export const ExperimentJobs = pageOf(readExperimentJob);
export const Job = json(readJob);
export const Statuses = pageOf(recordOf(StatusKeys));
export const Build = json(readBuild);
export const Group = json(readGroup);
export const Project = json(readProject);
/** The record of a new project. Only the unique name contains its owner. */
export const CreatedProject = json(recordOf({ ...ProjectKeys, unique_name: requiredText }));
export const CodeReference = json(recordOf(CodeReferenceKeys));
export const User = json(recordOf(UserKeys));
export const OutputFolder = json(recordOf(OutputFolderKeys));
export const Cluster = jsonWithList(ClusterKeys, "nodes", readNode);
export type ClusterRecord = AnswerOf<typeof Cluster>;
export const Node = json(readNode);
export const Token = json(recordOf({ token: nonEmptyText }));

export const RUN_KEYS = {
  experiments: keysOf(ExperimentKeys),
  jobs: keysOf(JobKeys),
  builds: keysOf(BuildKeys),
  groups: keysOf(GroupKeys),
};

export const EXPERIMENT_JOB_KEYS = keysOf(ExperimentJobKeys);
export const PROJECT_KEYS = keysOf(ProjectKeys);

/** The keys of a run's record that the gateway reads. Records contain other keys as received. */
export const KNOWN_KEYS: ReadonlySet<string> = new Set(Object.values(RUN_KEYS).flat());
