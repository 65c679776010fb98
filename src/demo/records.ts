import {
  type Build,
  type Experiment,
  type Group,
  type Job,
  lastStatus,
  type Metric,
  type Recipe,
  type Run,
  type Status,
} from "./model.ts";
import { replicasOf } from "./replicas.ts";
import { experimentsOf, type World } from "./store.ts";
import { projectName, timestamp, times, uniqueName, uuid, type Wire } from "./wire.ts";

// The keys of each record are those of its table in the service's document, in that order.

const nameOrNull = (run: Run | null) => run && uniqueName(run);

function identity(run: Run): Wire {
  return {
    id: run.id,
    uuid: uuid(run.kind, run.id),
    name: run.name,
    unique_name: uniqueName(run),
    user: run.user,
    description: run.description,
  };
}

function config(kind: string, { image, steps }: Recipe): Wire {
  return { build: { image, build_steps: steps }, version: 1, kind };
}

/** Null until the run has been scheduled. */
function placement(run: Job | Build): string | null {
  return run.statuses.some(({ status }) => status === "scheduled") ? run.node : null;
}

/** The reduced form that restart, resume and copy answer. */
export function reducedExperiment(experiment: Experiment): Wire {
  return {
    ...identity(experiment),
    ...times(experiment),
    last_status: lastStatus(experiment),
    original: nameOrNull(experiment.original),
    project: projectName(experiment.project),
    experiment_group: nameOrNull(experiment.group),
    build_job: nameOrNull(experiment.build),
    tags: experiment.tags,
  };
}

export function experimentRecord(_: World, experiment: Experiment, viewer: string): Wire {
  return {
    ...reducedExperiment(experiment),
    config: { ...config("experiment", experiment.recipe), run: { cmd: experiment.recipe.cmd } },
    declarations: experiment.declarations,
    resources: experiment.resources,
    last_metric: experiment.metrics.at(-1)?.values ?? {},
    num_jobs: replicasOf(experiment).length,
    is_clone: experiment.original !== null,
    has_tensorboard: experiment.hasTensorboard,
    bookmarked: experiment.bookmarkedBy.has(viewer),
  };
}

export function jobRecord(_: World, job: Job, viewer: string): Wire {
  return {
    ...identity(job),
    ...times(job),
    last_status: lastStatus(job),
    tags: job.tags,
    project: projectName(job.project),
    build_job: nameOrNull(job.build),
    is_clone: job.original !== null,
    original: nameOrNull(job.original),
    config: { ...config("job", job.recipe), run: { cmd: job.recipe.cmd } },
    resources: job.resources,
    node_scheduled: placement(job),
    bookmarked: job.bookmarkedBy.has(viewer),
  };
}

export function buildRecord(world: World, build: Build, viewer: string): Wire {
  const isUser = (run: { readonly build: Build | null }) => run.build === build;
  return {
    ...identity(build),
    ...times(build),
    last_status: lastStatus(build),
    tags: build.tags,
    project: projectName(build.project),
    config: config("build", build.recipe),
    resources: build.resources,
    node_scheduled: placement(build),
    num_jobs: [...world.jobs.values()].filter(isUser).length,
    num_experiments: [...world.experiments.values()].filter(isUser).length,
    dockerfile: dockerfile(build.recipe),
    commit: build.commit,
    bookmarked: build.bookmarkedBy.has(viewer),
  };
}

function dockerfile({ image, steps }: Recipe): string {
  const runs = steps.map((step) => `RUN ${step}`);
  return [`FROM ${image}`, "ENV LC_ALL en_US.UTF-8", "WORKDIR /code", ...runs, "COPY build /code"].join("\n");
}

/** The group's counters overlap as on real servers: what is scheduled counts as running, too. */
const counters = {
  num_pending_experiments: ["created", "resuming", "building", "unschedulable"],
  num_running_experiments: ["scheduled", "starting", "running", "stopping"],
  num_scheduled_experiments: ["scheduled"],
  num_succeeded_experiments: ["succeeded"],
  num_failed_experiments: ["failed", "upstream_failed"],
  num_stopped_experiments: ["stopped"],
} satisfies Record<string, readonly string[]>;

export function groupRecord(world: World, group: Group, viewer: string): Wire {
  const statuses = experimentsOf(world, group).map(lastStatus);
  const count = (wanted: readonly string[]) => statuses.filter((status) => wanted.includes(status)).length;
  const { concurrency, matrix, size, content } = group.search;
  return {
    ...identity(group),
    last_status: lastStatus(group),
    project: projectName(group.project),
    ...times(group),
    tags: group.tags,
    concurrency,
    search_algorithm: "random",
    current_iteration: 0,
    content,
    hptuning: {
      early_stopping: null,
      concurrency,
      seed: null,
      matrix,
      random_search: { n_experiments: size },
    },
    has_tensorboard: group.hasTensorboard,
    num_experiments: statuses.length,
    ...Object.fromEntries(Object.entries(counters).map(([key, wanted]) => [key, count(wanted)])),
    bookmarked: group.bookmarkedBy.has(viewer),
  };
}

export function metricRecord(experiment: Experiment, { id, at, values }: Metric): Wire {
  return { id, created_at: timestamp(at), values, experiment: experiment.id };
}

function plainStatus(run: Run, { id, at, message, status }: Status): Wire {
  return { id, uuid: uuid(`${run.kind} status`, id), created_at: timestamp(at), message, status };
}

export function experimentStatus(experiment: Experiment, status: Status): Wire {
  return { ...plainStatus(experiment, status), experiment: experiment.id };
}

export function groupStatus(group: Group, status: Status): Wire {
  return { ...plainStatus(group, status), experiment_group: group.id };
}

/** `details` is left out of the first record and null in the others: the document says that both occur. */
export function jobStatus(run: Job | Build, status: Status): Wire {
  const details = status === run.statuses[0] ? {} : { details: null };
  return { ...plainStatus(run, status), ...details, job: run.id };
}
