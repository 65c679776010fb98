import { measure } from "./curves.ts";
import { type Experiment, type Group, isFinal, lastStatus, type Run } from "./model.ts";
import { experimentsOf, nextId, type Occurrence, type World } from "./store.ts";

/** Milliseconds from `stopping` to `stopped`. */
const stopDelay = 2_000;

/** Lets everything happen whose time has come. Each request begins with it, so no timer is needed. */
export function settle(world: World): void {
  world.time = Math.max(world.time, world.clock());
  for (;;) {
    const next = world.agenda[0];
    if (!next || next.occurrence.at > world.time) return;
    world.agenda.shift();
    happen(world, next.run, next.occurrence);
  }
}

/** Adds what will happen to a run. */
export function plan(world: World, run: Run, occurrences: readonly Occurrence[]): void {
  for (const occurrence of occurrences) world.agenda.push({ run, occurrence });
  world.agenda = world.agenda.toSorted((a, b) => a.occurrence.at - b.occurrence.at);
}

/** Takes back everything that would still have happened to a run. */
export function cancel(world: World, run: Run): void {
  world.agenda = world.agenda.filter((entry) => entry.run !== run);
}

/** Lets occurrences happen at once, whatever the clock says: a history. */
export function follow(world: World, run: Run, occurrences: readonly Occurrence[]): void {
  for (const occurrence of occurrences) happen(world, run, occurrence);
}

function happen(world: World, run: Run, occurrence: Occurrence): void {
  run.updatedAt = occurrence.at;
  if ("values" in occurrence) {
    if (run.kind === "experiment") record(world, run, occurrence.values, occurrence.at);
    return;
  }
  const { at, status, message = null } = occurrence;
  run.statuses.push({ id: nextId(world, `${run.kind} status`), at, status, message });
  if (run.kind === "experiment" && run.group && isFinal(status)) conclude(world, run.group, at);
}

/** Appends a metric record. */
export function record(
  world: World,
  experiment: Experiment,
  values: Readonly<Record<string, unknown>>,
  at: number,
) {
  const metric = { id: nextId(world, "metric"), at, values };
  experiment.metrics.push(metric);
  experiment.updatedAt = at;
  return metric;
}

/** Ends a running group whose experiments have all ended. */
export function conclude(world: World, group: Group, at: number): void {
  if (lastStatus(group) !== "running") return;
  const isOver = experimentsOf(world, group).every((experiment) => isFinal(lastStatus(experiment)));
  if (isOver) happen(world, group, { at, status: "succeeded" });
}

/**
 * Stops a run. One that has ended well or badly is stopped like any other, as real servers do; one that is
 * stopped already stays as it is.
 */
export function stopRun(world: World, run: Run): void {
  const status = lastStatus(run);
  if (status === "stopping" || status === "stopped") return;
  cancel(world, run);
  happen(world, run, { at: world.time, status: "stopping" });
  plan(world, run, [{ at: world.time + stopDelay, status: "stopped" }]);
}

/** Stops a group and those of its experiments that have not ended. */
export function stopGroup(world: World, group: Group): void {
  stopRun(world, group);
  for (const experiment of experimentsOf(world, group)) {
    if (!isFinal(lastStatus(experiment))) stopRun(world, experiment);
  }
}

/** Milliseconds after its creation at which a run that somebody starts reaches each status. */
const ordinaryCourse: readonly (readonly [after: number, status: string])[] = [
  [4_000, "scheduled"],
  [8_000, "starting"],
  [12_000, "running"],
  [40_000, "succeeded"],
];

/** Milliseconds after its creation at which such an experiment records metrics. */
const epochEnds = Array.from({ length: 13 }, (_, epoch) => 14_000 + epoch * 2_000);

/** Sets a run going that was made just now. */
export function launch(world: World, run: Run): void {
  follow(world, run, [{ at: run.createdAt, status: "created" }]);
  plan(
    world,
    run,
    ordinaryCourse.map(([after, status]) => ({ at: run.createdAt + after, status })),
  );
}

/** Lets an experiment that was made just now record metrics while it runs. */
export function launchExperiment(world: World, experiment: Experiment): void {
  launch(world, experiment);
  const measures = epochEnds.map((after, epoch) => ({
    at: experiment.createdAt + after,
    values: measure(experiment.id, experiment.declarations, epoch),
  }));
  plan(world, experiment, measures);
}
