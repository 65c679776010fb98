import { buildKeys, experimentKeys, type FilterKeys, groupKeys, jobKeys } from "./http/filters.ts";
import { experimentSortKeys, runSortKeys, type SortKeys } from "./http/orders.ts";
import {
  buildRecord,
  experimentRecord,
  experimentStatus,
  groupRecord,
  groupStatus,
  jobRecord,
  jobStatus,
  type JsonRecord,
} from "./records.ts";
import type { Build, Experiment, Group, Job, Run, Status, Store } from "./store.ts";

/** A kind of run, as the handlers need it. */
export interface Kind<R extends Run> {
  readonly all: (store: Store) => Map<number, R>;
  /** The full record as one user sees it. */
  readonly record: (store: Store, run: R, viewer: string) => JsonRecord;
  readonly status: (run: R, status: Status) => JsonRecord;
  /** The name of the kind in error messages of its list. */
  readonly manager: string;
  readonly filterKeys: FilterKeys<R>;
  readonly sortKeys: SortKeys<R>;
  /** Keys of the full record that list rows lack. */
  readonly omittedInLists: readonly string[];
}

export const experiments: Kind<Experiment> = {
  all: (store) => store.runs.experiment,
  record: experimentRecord,
  status: experimentStatus,
  manager: "experiment",
  filterKeys: experimentKeys,
  sortKeys: experimentSortKeys,
  omittedInLists: [
    "config",
    "resources",
    "num_jobs",
    "is_clone",
    "has_tensorboard",
    "run_env",
    "data_refs",
    "code_reference",
    "readme",
  ],
};

export const jobs: Kind<Job> = {
  all: (store) => store.runs.job,
  record: jobRecord,
  status: jobStatus,
  manager: "job",
  filterKeys: jobKeys,
  sortKeys: runSortKeys,
  omittedInLists: ["config", "is_clone", "resources", "node_scheduled", "data_refs", "readme"],
};

export const builds: Kind<Build> = {
  all: (store) => store.runs.build,
  record: buildRecord,
  status: jobStatus,
  manager: "build",
  filterKeys: buildKeys,
  sortKeys: runSortKeys,
  omittedInLists: [
    "config",
    "resources",
    "node_scheduled",
    "num_jobs",
    "num_experiments",
    "dockerfile",
    "commit",
  ],
};

export const groups: Kind<Group> = {
  all: (store) => store.runs.group,
  record: groupRecord,
  status: groupStatus,
  manager: "experiment_group",
  filterKeys: groupKeys,
  sortKeys: runSortKeys,
  omittedInLists: [
    "content",
    "hptuning",
    "current_iteration",
    "readme",
    "num_experiments",
    "num_pending_experiments",
    "num_running_experiments",
    "num_scheduled_experiments",
    "num_succeeded_experiments",
    "num_failed_experiments",
    "num_stopped_experiments",
  ],
};
