import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { json, readTolerantly } from "./reader.ts";

/*
 * One reader for each record of the document's "Resources and their fields", keys in its order and spelling.
 * Only `id` must be there: a key that did not arrive stays absent, a value of a wrong type reads as null,
 * an unknown key is dropped. So `key in record` tells what arrived.
 */

const id = z.int();
const text = z.string().nullish();
/** What GraphQL calls an Int. */
const integer = z.int32().nullish();
const number = z.number().nullish();
const flag = z.boolean().nullish();
/** ISO 8601 as the service wrote it: microseconds and offset would not survive a Date. */
const timestamp = text;
/** A shape that the document does not show. */
const unstated = z.unknown().optional();

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const object = z.custom<Record<string, unknown>>(isObject);
/** Names are data: a Map cannot be hurt by `__proto__`. */
const byName = object
  .transform((values): ReadonlyMap<string, unknown> => new Map(Object.entries(values)))
  .nullish();

/** The documented keys of an object, tolerantly read, beside the whole of it as received. */
const withRaw = <Shape extends z.ZodType>(shape: Shape) =>
  object.transform((raw) => ({ known: readTolerantly(shape, raw).answer, raw })).nullish();

const Config = withRaw(
  z.object({
    build: z.object({ image: text, build_steps: z.array(z.string()).nullish() }).nullish(),
    version: integer,
    kind: text,
    run: z.object({ cmd: text }).nullish(),
  }),
);
export type ConfigRecord = NonNullable<z.output<typeof Config>>;

/** Newer servers write `config` as text in `content` and `declarations` as `params`. */
const renamedByLaterReleases = (record: unknown): unknown => {
  if (!isObject(record)) return record;
  const { content, params } = record;
  return {
    ...record,
    ...("config" in record || !("content" in record) ? {} : { config: parseConfig(content) }),
    ...("declarations" in record || !("params" in record) ? {} : { declarations: params }),
  };
};

function parseConfig(content: unknown): unknown {
  if (typeof content !== "string") return content;
  try {
    // A warning would quote the text on the process's stderr.
    return parseYaml(content, { logLevel: "error" });
  } catch {
    // Text that is no YAML tells nothing about the configuration.
    return null;
  }
}

/** What all four kinds of run carry, and (with fewer keys) the jobs of experiments. */
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
  tags: z.array(z.string()).nullish(),
  bookmarked: flag,
};
export type TrackedRecord = z.output<z.ZodObject<typeof Tracked>>;
export type RunnableRecord = z.output<z.ZodObject<typeof Runnable>>;

export type ExperimentRecord = z.output<typeof ExperimentFields>;
const ExperimentFields = z.object({
  ...Runnable,
  original: text,
  experiment_group: text,
  build_job: text,
  config: Config,
  declarations: unstated,
  resources: unstated,
  last_metric: byName,
  num_jobs: integer,
  is_clone: flag,
  has_tensorboard: flag,
});
const ExperimentSchema = z.preprocess(renamedByLaterReleases, ExperimentFields);

/** Statuses of all kinds; each kind names what the status belongs to under a key of its own. */
const StatusSchema = z.object({
  id,
  uuid: text,
  created_at: timestamp,
  message: text,
  status: text,
  details: unstated,
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
});
export type ExperimentJobRecord = z.output<typeof ExperimentJobSchema>;

export type JobRecord = z.output<typeof JobFields>;
const JobFields = z.object({
  ...Runnable,
  build_job: text,
  is_clone: flag,
  original: text,
  config: Config,
  resources: unstated,
  node_scheduled: text,
});
const JobSchema = z.preprocess(renamedByLaterReleases, JobFields);

export type BuildRecord = z.output<typeof BuildFields>;
const BuildFields = z.object({
  ...Runnable,
  config: Config,
  resources: unstated,
  node_scheduled: text,
  num_jobs: integer,
  num_experiments: integer,
  dockerfile: text,
  commit: text,
});
const BuildSchema = z.preprocess(renamedByLaterReleases, BuildFields);

const Hptuning = withRaw(
  z.object({
    early_stopping: unstated,
    concurrency: integer,
    seed: unstated,
    matrix: byName,
    random_search: z.object({ n_experiments: integer }).nullish(),
  }),
);
export type HptuningRecord = NonNullable<z.output<typeof Hptuning>>;

const GroupSchema = z.object({
  ...Runnable,
  concurrency: integer,
  search_algorithm: text,
  current_iteration: integer,
  content: text,
  hptuning: Hptuning,
  has_tensorboard: flag,
  num_experiments: integer,
  num_pending_experiments: integer,
  num_running_experiments: integer,
  num_scheduled_experiments: integer,
  num_succeeded_experiments: integer,
  num_failed_experiments: integer,
  num_stopped_experiments: integer,
});
export type GroupRecord = z.output<typeof GroupSchema>;
/** The experiments of a group by state; rows of lists lack them. */
export const GROUP_COUNTERS = [
  "num_experiments",
  "num_pending_experiments",
  "num_running_experiments",
  "num_scheduled_experiments",
  "num_succeeded_experiments",
  "num_failed_experiments",
  "num_stopped_experiments",
] as const satisfies readonly (keyof GroupRecord)[];

/** A machine is known by its name: without one it cannot be shown. */
const Summary = {
  uuid: text,
  sequence: integer,
  name: z.string(),
  hostname: text,
  role: text,
  /** More than 32 bits on every machine of today. */
  memory: number,
  cpu: number,
  n_gpus: integer,
};
const NodeSchema = z.object({
  ...Summary,
  gpus: z.array(z.unknown()).nullish(),
  docker_version: text,
  kubelet_version: text,
  os_image: text,
  kernel_version: text,
  schedulable_taints: flag,
  schedulable_state: flag,
  status: text,
  is_current: flag,
});
/** A summary is a node whose detail keys did not arrive. */
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
  nodes: z.array(z.object(Summary)).nullish(),
});
export type ClusterRecord = z.output<typeof ClusterSchema>;

const UserSchema = z.object({ username: text, email: text, is_superuser: flag });
export type UserRecord = z.output<typeof UserSchema>;

/** Longest page that is looked at: what the bytes of an answer could hold at most, if its records were real. */
const LONGEST_PAGE = 100_000;

/** Looked at as a whole first: a list of a million things that are no records is one fault, not a million. */
const listOfObjects = (list: unknown): unknown =>
  Array.isArray(list) && list.length <= LONGEST_PAGE && list.every(isObject) ? list : null;

const pageOf = <Item extends z.ZodType>(item: Item) =>
  json(
    z.object({
      count: integer,
      next: text,
      previous: text,
      results: z.preprocess(listOfObjects, z.array(item)),
    }),
  );
/** The envelope of every list: one page, and where the next one is. */
export interface Page<Item> {
  readonly count?: number | null | undefined;
  readonly next?: string | null | undefined;
  readonly previous?: string | null | undefined;
  readonly results: readonly Item[];
}

export const Experiment = json(ExperimentSchema);
export const Metric = json(MetricSchema);
export const Metrics = pageOf(MetricSchema);
export const ExperimentJob = json(ExperimentJobSchema);
export const ExperimentJobs = pageOf(ExperimentJobSchema);
export const Job = json(JobSchema);
export const Statuses = pageOf(StatusSchema);
export const Build = json(BuildSchema);
export const Group = json(GroupSchema);
export const Cluster = json(ClusterSchema);
export const Node = json(NodeSchema);
export const User = json(UserSchema);
/** A project, as lists of projects tell of it. */
export const Projects = pageOf(z.object({ name: z.string() }));
export const Experiments = pageOf(ExperimentSchema);
export const Jobs = pageOf(JobSchema);
export const Builds = pageOf(BuildSchema);
export const Groups = pageOf(GroupSchema);
export const Token = json(z.object({ token: z.string().min(1) }));
