import { stopGroup, stopRun } from "./course.ts";
import type { Build, Experiment, Group, Job, Run, Status } from "./model.ts";
import {
  buildRecord,
  experimentRecord,
  experimentStatus,
  groupRecord,
  groupStatus,
  jobRecord,
  jobStatus,
} from "./records.ts";
import { removeBuild, removeExperiment, removeGroup, removeJob } from "./removal.ts";
import type { World } from "./store.ts";
import type { Wire } from "./wire.ts";

/** What the handlers must know of a kind of run. */
export interface Kind<R extends Run> {
  readonly all: (world: World) => Map<number, R>;
  /** The full record as one user sees it. */
  readonly record: (world: World, run: R, viewer: string) => Wire;
  readonly status: (run: R, status: Status) => Wire;
  /** Takes the run out of the world, with all that hangs on it. */
  readonly remove: (world: World, run: R) => void;
  readonly stop: (world: World, run: R) => void;
}

export const experiments: Kind<Experiment> = {
  all: (world) => world.experiments,
  record: experimentRecord,
  status: experimentStatus,
  remove: removeExperiment,
  stop: stopRun,
};

export const jobs: Kind<Job> = {
  all: (world) => world.jobs,
  record: jobRecord,
  status: jobStatus,
  remove: removeJob,
  stop: stopRun,
};

export const builds: Kind<Build> = {
  all: (world) => world.builds,
  record: buildRecord,
  status: jobStatus,
  remove: removeBuild,
  stop: stopRun,
};

export const groups: Kind<Group> = {
  all: (world) => world.groups,
  record: groupRecord,
  status: groupStatus,
  remove: removeGroup,
  stop: stopGroup,
};
