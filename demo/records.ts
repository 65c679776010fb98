import {
  dataRefsOf,
  frameworkOf,
  podDefinition,
  podName,
  runEnvOf,
  tracebackOf,
  uuid,
} from "./newer-keys.ts";
import { replicasOf, replicaStatuses } from "./simulation.ts";
import { lastStatus, spanOf } from "./statuses.ts";
import {
  type Build,
  type Experiment,
  type Group,
  type Job,
  listedExperimentsOf,
  type Metric,
  type Project,
  type Replica,
  type Run,
  type RunConfig,
  type Status,
  type Store,
} from "./store.ts";

// The keys of each record are those of its table in the service's document, in that order, and then those of release 0.4.4.

export type JsonRecord = Record<string, unknown>;

/** ISO 8601 with microseconds and an offset; the clock has none, so the last three digits are derived. */
export function timestamp(at: number): string {
  const microseconds = String(Math.abs(Math.trunc(at * 0.577)) % 1_000).padStart(3, "0");
  return new Date(at).toISOString().replace("Z", `${microseconds}+00:00`);
}

/** The four times of every run; its start and end are derived from its statuses. */
function times(record: {
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly statuses: readonly Status[];
}): JsonRecord {
  const { startedAt, finishedAt } = spanOf(record.statuses);
  return {
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
    started_at: startedAt === null ? null : timestamp(startedAt),
    finished_at: finishedAt === null ? null : timestamp(finishedAt),
  };
}

export function projectName({ owner, name }: Pick<Project, "owner" | "name">): string {
  return `${owner}.${name}`;
}

/** The name of an experiment in a group has four parts; a group and an independent experiment can have the same name. */
export function uniqueName(run: Run): string {
  const project = projectName(run.project);
  if (run.kind === "group") return `${project}.${run.id}`;
  if (run.kind === "experiment") return `${run.group ? uniqueName(run.group) : project}.${run.id}`;
  return `${project}.${run.kind}s.${run.id}`;
}
const nameOrNull = (run: Run | null) => run && uniqueName(run);

function identity(run: Run): JsonRecord {
  return {
    id: run.id,
    uuid: uuid(run.kind, run.id),
    name: run.name,
    unique_name: uniqueName(run),
    user: run.user,
    description: run.description,
  };
}

/** The specification of a run as it was sent, or else one built from its configuration. */
function configOf(kind: Run["kind"], { image, steps, cmd, specification }: RunConfig): unknown {
  if (specification !== undefined) return specification;
  const run = kind === "build" ? {} : { run: { cmd } };
  return { build: { image, build_steps: steps }, version: 1, kind, ...run };
}

/** Null until the run has been scheduled. */
function nodeOf(run: Job | Build): string | null {
  return run.statuses.some(({ status }) => status === "scheduled") ? run.node : null;
}

/** The reduced record that restart, resume and copy respond with. */
export function reducedExperiment(experiment: Experiment): JsonRecord {
  return {
    ...identity(experiment),
    ...times(experiment),
    last_status: lastStatus(experiment),
    original: nameOrNull(experiment.original),
    project: projectName(experiment.project),
    experiment_group: nameOrNull(experiment.group),
    build_job: nameOrNull(experiment.build),
    tags: experiment.tags,
    cloning_strategy: experiment.strategy,
    backend: "native",
    framework: frameworkOf(experiment),
  };
}

export function experimentRecord(_store: Store, experiment: Experiment, viewer: string): JsonRecord {
  return {
    ...reducedExperiment(experiment),
    config: configOf("experiment", experiment.config),
    declarations: experiment.declarations,
    resources: experiment.resources,
    last_metric: experiment.metrics.at(-1)?.latest ?? {},
    num_jobs: replicasOf(experiment).length,
    is_clone: experiment.original !== null,
    has_tensorboard: experiment.hasTensorboard,
    bookmarked: experiment.bookmarkedBy.has(viewer),
    run_env: runEnvOf(experiment),
    data_refs: dataRefsOf(experiment.project),
    code_reference: experiment.code?.id ?? null,
    readme: experiment.readme,
  };
}

export function jobRecord(_store: Store, job: Job, viewer: string): JsonRecord {
  return {
    ...identity(job),
    ...times(job),
    last_status: lastStatus(job),
    tags: job.tags,
    project: projectName(job.project),
    build_job: nameOrNull(job.build),
    is_clone: job.original !== null,
    original: nameOrNull(job.original),
    config: configOf("job", job.config),
    resources: job.resources,
    node_scheduled: nodeOf(job),
    bookmarked: job.bookmarkedBy.has(viewer),
    cloning_strategy: job.strategy,
    pod_id: podName("job", job.id),
    data_refs: dataRefsOf(job.project),
    readme: job.readme,
  };
}

export function buildRecord(store: Store, build: Build, viewer: string): JsonRecord {
  const isUser = (run: Experiment | Job) => run.build === build && !run.isArchived;
  return {
    ...identity(build),
    ...times(build),
    last_status: lastStatus(build),
    tags: build.tags,
    project: projectName(build.project),
    config: configOf("build", build.config),
    resources: build.resources,
    node_scheduled: nodeOf(build),
    num_jobs: [...store.runs.job.values()].filter(isUser).length,
    num_experiments: [...store.runs.experiment.values()].filter(isUser).length,
    dockerfile: dockerfile(build.config),
    commit: build.commit,
    bookmarked: build.bookmarkedBy.has(viewer),
    pod_id: podName("build", build.id),
    backend: "native",
  };
}

function dockerfile({ image, steps }: RunConfig): string {
  const runs = steps.map((step) => `RUN ${step}`);
  return [`FROM ${image}`, "ENV LC_ALL en_US.UTF-8", "WORKDIR /code", ...runs, "COPY build /code"].join("\n");
}

/** The counters of a group overlap, as on real servers: a scheduled experiment also counts as running. */
const counters = {
  num_pending_experiments: ["created", "resuming", "building", "unschedulable"],
  num_running_experiments: ["scheduled", "starting", "running", "stopping"],
  num_scheduled_experiments: ["scheduled"],
  num_succeeded_experiments: ["succeeded"],
  num_failed_experiments: ["failed", "upstream_failed"],
  num_stopped_experiments: ["stopped"],
} satisfies Record<string, readonly string[]>;

export function groupRecord(store: Store, group: Group, viewer: string): JsonRecord {
  const statuses = listedExperimentsOf(store, group).map(lastStatus);
  const count = (counted: readonly string[]) => statuses.filter((status) => counted.includes(status)).length;
  const { search } = group;
  const concurrency = search?.concurrency ?? null;
  return {
    ...identity(group),
    last_status: lastStatus(group),
    project: projectName(group.project),
    ...times(group),
    tags: group.tags,
    concurrency,
    search_algorithm: search?.algorithm ?? null,
    current_iteration: 0,
    content: search?.content ?? null,
    hptuning: search && { early_stopping: null, concurrency, seed: null, ...search.tuning },
    has_tensorboard: group.hasTensorboard,
    num_experiments: statuses.length,
    ...Object.fromEntries(Object.entries(counters).map(([key, counted]) => [key, count(counted)])),
    bookmarked: group.bookmarkedBy.has(viewer),
    group_type: search ? "study" : "selection",
    readme: group.readme,
  };
}

export function metricRecord(experiment: Experiment, { id, at, values }: Metric): JsonRecord {
  return { id, created_at: timestamp(at), values, experiment: experiment.id };
}

function statusOf(run: Run, reached: Status): JsonRecord {
  const { id, at, message, status } = reached;
  const traceback = tracebackOf(run, reached);
  return { id, uuid: uuid(`${run.kind} status`, id), created_at: timestamp(at), message, status, traceback };
}

export function experimentStatus(experiment: Experiment, status: Status): JsonRecord {
  return { ...statusOf(experiment, status), experiment: experiment.id };
}

export function groupStatus(group: Group, status: Status): JsonRecord {
  return { ...statusOf(group, status), experiment_group: group.id };
}

/** `details` is absent from the first record and null in the others, because the document has both. */
export function jobStatus(run: Job | Build, status: Status): JsonRecord {
  const details = status === run.statuses[0] ? {} : { details: null };
  return { ...statusOf(run, status), ...details, job: run.id };
}

export function replicaRecord(experiment: Experiment, replica: Replica): JsonRecord {
  const statuses = replicaStatuses(experiment, replica);
  const createdAt = statuses[0]?.at ?? experiment.createdAt;
  const podId = podName("experiment job", replica.id);
  return {
    id: replica.id,
    uuid: uuid("experiment job", replica.id),
    unique_name: `${uniqueName(experiment)}.${replica.id}.${replica.role}`,
    role: replica.role,
    experiment: experiment.id,
    last_status: lastStatus({ statuses }),
    ...times({ createdAt, updatedAt: statuses.at(-1)?.at ?? createdAt, statuses }),
    resources: experiment.resources,
    node_scheduled: replica.node,
    pod_id: podId,
    definition: podDefinition(podId, experiment, replica.node),
  };
}

/** The document leaves the shape open; this is the recorded one, whose `details` are sometimes an object. */
export function replicaStatusRecord(replica: Replica, { id, at, status, message }: Status): JsonRecord {
  return {
    id,
    uuid: uuid("experiment job status", id),
    created_at: timestamp(at),
    message,
    status,
    details: status === "running" ? { event_type: "MODIFIED" } : null,
    traceback: null,
    job: replica.id,
  };
}
