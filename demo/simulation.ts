import { isFinal, lastStatus } from "./statuses.ts";
import {
  type Declarations,
  type Experiment,
  experimentsOf,
  type Group,
  type Metric,
  nextId,
  type Project,
  type Replica,
  type Run,
  type ScheduledEvent,
  type Status,
  type Store,
  type User,
} from "./store.ts";

/** A run reaches a status or records metrics. */
type RunEvent =
  | { readonly at: number; readonly status: string; readonly message?: string | undefined }
  | { readonly at: number; readonly values: Metric["values"] };

/** Applies every event that is due. Each request calls it first, so no timer is needed. */
export function applyDueEvents(store: Store): void {
  store.time = Math.max(store.time, store.clock());
  for (;;) {
    const [next] = store.schedule;
    if (!next || next.at > store.time) return;
    store.schedule.shift();
    next.apply();
  }
}

/** Schedules the events of a run. */
function schedule(store: Store, run: Run, events: readonly RunEvent[]): void {
  enqueue(
    store,
    events.map((event) => ({ at: event.at, run, apply: () => applyEvent(store, run, event) })),
  );
}

function enqueue(store: Store, events: readonly ScheduledEvent[]): void {
  store.schedule = [...store.schedule, ...events].toSorted((a, b) => a.at - b.at);
}

/** Calls a function at a time and again after each interval, both in milliseconds. */
export function repeat(
  store: Store,
  { first, interval }: { first: number; interval: number },
  act: (at: number) => void,
): void {
  const apply = () => {
    act(first);
    repeat(store, { first: first + interval, interval }, act);
  };
  enqueue(store, [{ at: first, run: null, apply }]);
}

function cancel(store: Store, run: Run): void {
  store.schedule = store.schedule.filter((event) => event.run !== run);
}

/** Applies events immediately, whatever the time of the clock: they are in the past. */
function applyEvents(store: Store, run: Run, events: readonly RunEvent[]): void {
  for (const event of events) applyEvent(store, run, event);
}

function applyEvent(store: Store, run: Run, event: RunEvent): void {
  if ("values" in event) {
    if (run.kind === "experiment") recordMetric(store, run, event.values, event.at);
    return;
  }
  const { at, status, message = null } = event;
  run.updatedAt = at;
  run.statuses.push({ id: nextId(store, `${run.kind} status`), at, status, message });
  if (run.kind === "experiment" && run.group && isFinal(status)) finishGroup(store, run.group, at);
}

export function recordMetric(store: Store, experiment: Experiment, values: Metric["values"], at: number) {
  // As on real servers, a missing name keeps its value.
  const latest = { ...experiment.metrics.at(-1)?.latest, ...values };
  const metric: Metric = { id: nextId(store, "metric"), at, values, latest };
  experiment.metrics.push(metric);
  experiment.updatedAt = at;
  return metric;
}

/** Ends a running group that creates no more experiments when all its experiments have ended. */
function finishGroup(store: Store, group: Group, at: number): void {
  if (lastStatus(group) !== "running" || store.schedule.some(({ run }) => run === group)) return;
  const isOver = experimentsOf(store, group).every((experiment) => isFinal(lastStatus(experiment)));
  if (isOver) applyEvent(store, group, { at, status: "succeeded" });
}

/** Milliseconds from `stopping` to `stopped`. */
const stopDelay = 2_000;

/**
 * Stops a run. A run that succeeded or failed becomes stopped, as on real servers; a stopped run does not change. A group stops its
 * experiments that have not ended.
 */
export function stopRun(store: Store, run: Run): void {
  if (!["stopping", "stopped"].includes(lastStatus(run))) {
    cancel(store, run);
    applyEvent(store, run, { at: store.time, status: "stopping" });
    schedule(store, run, [{ at: store.time + stopDelay, status: "stopped" }]);
  }
  if (run.kind !== "group") return;
  for (const experiment of experimentsOf(store, run)) {
    if (!isFinal(lastStatus(experiment))) stopRun(store, experiment);
  }
}

/** Removes a run. Other runs lose their reference to it; the experiments of a group are removed with it. */
export function removeRun(store: Store, run: Run): void {
  cancel(store, run);
  store.runs[run.kind].delete(run.id);
  for (const other of [...store.runs.experiment.values(), ...store.runs.job.values()]) {
    if (other.original === run) other.original = null;
    if (other.build === run) other.build = null;
  }
  if (run.kind === "experiment" && run.group) finishGroup(store, run.group, store.time);
  if (run.kind !== "group") return;
  for (const experiment of experimentsOf(store, run)) {
    experiment.group = null;
    removeRun(store, experiment);
  }
}

/** Removes a project and everything in it. */
export function removeProject(store: Store, project: Project): void {
  const { group, experiment, job, build } = store.runs;
  for (const runs of [group, experiment, job, build]) {
    for (const run of runs.values()) if (run.project === project) removeRun(store, run);
  }
  for (const [name, each] of store.projects) if (each === project) store.projects.delete(name);
}

/** Removes a user with their projects, all runs in these, and the runs that they created elsewhere. */
export function removeUser(store: Store, { username }: User): void {
  const { group, experiment, job, build } = store.runs;
  for (const runs of [group, experiment, job, build]) {
    for (const run of runs.values()) {
      if (run.user === username || run.project.owner === username) removeRun(store, run);
    }
  }
  for (const [name, project] of store.projects) {
    if (project.owner === username) store.projects.delete(name);
  }
  store.users.delete(username);
}

/** A status and how many seconds after the run's creation it is reached, with the reason if there is one. */
export type Step = readonly [after: number, status: string, message?: string | undefined];

function eventsOf({ createdAt }: Run, steps: readonly Step[]): RunEvent[] {
  return steps.map(([after, status, message]) => ({ at: createdAt + after * 1_000, status, message }));
}

export function applySteps(store: Store, run: Run, steps: readonly Step[]): void {
  applyEvents(store, run, eventsOf(run, steps));
}

export function scheduleSteps(store: Store, run: Run, steps: readonly Step[]): void {
  schedule(store, run, eventsOf(run, steps));
}

/** The part of an experiment's timeline that differs between experiments. */
export interface Training {
  /** Seconds from creation until the experiment is scheduled. */
  readonly wait?: number;
  readonly epochs: number;
  /** Seconds that an epoch takes. */
  readonly epochSeconds: number;
  /** The final status, reached one epoch after the last metrics. */
  readonly end: string;
  readonly message?: string | undefined;
}

export function applyTraining(store: Store, experiment: Experiment, training: Training): void {
  applyEvents(store, experiment, trainingEvents(experiment, training));
}

export function scheduleTraining(store: Store, experiment: Experiment, training: Training): void {
  schedule(store, experiment, trainingEvents(experiment, training));
}

/** Every event of an experiment that starts running. */
function trainingEvents(
  experiment: Experiment,
  { wait = 64, epochs, epochSeconds, end, message }: Training,
): RunEvent[] {
  const running = wait + 29;
  return [
    ...eventsOf(experiment, [
      [0, "created"],
      [wait - 43, "building"],
      [wait, "scheduled"],
      [wait + 15, "starting"],
      [running, "running"],
    ]),
    ...metricEvents(experiment, { epochs, first: running + epochSeconds, interval: epochSeconds }),
    ...eventsOf(experiment, [[running + (epochs + 1) * epochSeconds, end, message]]),
  ];
}

/** The metrics after each epoch. The time of the first one and the interval are in seconds. */
function metricEvents(
  { id, createdAt, declarations }: Experiment,
  { epochs, first, interval }: { epochs: number; first: number; interval: number },
): RunEvent[] {
  return Array.from({ length: epochs }, (_, epoch) => ({
    at: createdAt + (first + epoch * interval) * 1_000,
    values: measure(id, declarations, epoch),
  }));
}

/** Starts a run that a user created just now. An experiment records metrics while it runs. */
export function startRun(store: Store, run: Run): void {
  applySteps(store, run, [[0, "created"]]);
  scheduleSteps(store, run, [
    [4, "scheduled"],
    [8, "starting"],
    [12, "running"],
    [40, "succeeded"],
  ]);
  if (run.kind === "experiment") {
    schedule(store, run, metricEvents(run, { epochs: 13, first: 14, interval: 2 }));
  }
}

/** Milliseconds in which a study creates its first experiments, and after which it creates the next ones. */
const [firstTrials, nextTrials] = [4_000, 42_000];

/**
 * Starts a study that a user created just now. It creates one experiment for each trial, as many at a time as may run concurrently, and the
 * next ones when these have ended.
 */
export function startStudy(
  store: Store,
  group: Group,
  { concurrency, trials }: { concurrency: number; trials: readonly Declarations[] },
  add: (trial: Declarations, createdAt: number) => Experiment,
): void {
  applySteps(store, group, [[0, "created"]]);
  scheduleSteps(store, group, [[2, "running"]]);
  const timeOf = (index: number) =>
    // The experiments of a batch are created one after the other (1 ms apart), as on real servers.
    group.createdAt + firstTrials + Math.floor(index / concurrency) * nextTrials + (index % concurrency);
  enqueue(
    store,
    trials.map((trial, index) => {
      const at = timeOf(index);
      return { at, run: group, apply: () => startRun(store, add(trial, at)) };
    }),
  );
}

/** The jobs of an experiment: they exist from the moment it is scheduled. */
export function replicasOf(experiment: Experiment): readonly Replica[] {
  return experiment.statuses.some(({ status }) => status === "scheduled") ? experiment.replicas : [];
}

/** Greater than the number of statuses a replica has: its status ids are counted up from its own id. */
const idsPerReplica = 16;

/** The statuses of a job of an experiment, derived from those of the experiment. */
export function replicaStatuses(experiment: Experiment, replica: Replica): Status[] {
  const scheduled = experiment.statuses.findIndex(({ status }) => status === "scheduled");
  const since = experiment.statuses.slice(scheduled);
  return since
    .flatMap((status) => {
      if (status.status === "scheduled") return [{ ...status, status: "created" }, status];
      // A job goes through `building` while its experiment is `starting`.
      return status.status === "starting" ? [{ ...status, status: "building" }] : [status];
    })
    .map((status, index) => ({ ...status, id: replica.id * idsPerReplica + index }));
}

/** A number from 0 to 1 (exclusive) that looks random and depends only on the string. */
export function pseudoRandom(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}

/**
 * The metrics of an experiment after an epoch. A small learning rate converges slowly, a large one is noisy;
 * the best loss is near a rate of 0.025 with little dropout.
 */
export function measure(id: number, declarations: Declarations | null, epoch: number) {
  const given = numberOr(declarations?.["lr"], 0.01);
  const rate = given > 0 ? given : 0.01;
  const dropout = numberOr(declarations?.["dropout"], 0.3);
  const floor =
    0.06 +
    0.16 * Math.abs(Math.log10(rate / 0.025)) +
    0.25 * Math.abs(dropout - 0.3) +
    (declarations?.["activation"] === "sigmoid" ? 0.07 : 0) +
    0.05 * pseudoRandom(`floor ${id}`);
  const decay = Math.exp(-(0.06 + 1.8 * rate) * (epoch + 1));
  const noise = (pseudoRandom(`loss ${id} ${epoch}`) - 0.5) * (0.02 + 1.4 * rate) * (0.3 + decay);
  const loss = Math.max(0.01, floor + (2.3 - floor) * decay + noise);
  const accuracy = 1 - loss / 2.6 + (pseudoRandom(`accuracy ${id} ${epoch}`) - 0.5) * 0.01;
  return { loss: round(loss), accuracy: round(Math.min(0.998, Math.max(0.1, accuracy))) };
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
