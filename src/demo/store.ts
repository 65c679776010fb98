import type { Build, Experiment, Group, Job, Metric, Project, Run, Status, User } from "./model.ts";

/** One thing that happens to a run: a status is reached or metrics are recorded. */
export type Occurrence =
  | { readonly at: number; readonly status: string; readonly message?: string | undefined }
  | { readonly at: number; readonly values: Metric["values"] };

/** The whole state of one demo service. */
export interface World {
  readonly clock: () => number;
  /** Up to where the clock has been followed; never runs backwards. */
  time: number;
  /** What will happen, soonest first. */
  agenda: { readonly run: Run; readonly occurrence: Occurrence }[];
  readonly users: Map<string, User>;
  /** Under `<owner>.<name>`. */
  readonly projects: Map<string, Project>;
  readonly experiments: Map<number, Experiment>;
  readonly jobs: Map<number, Job>;
  readonly builds: Map<number, Build>;
  readonly groups: Map<number, Group>;
  /** Greatest id given away so far, by series of ids. */
  readonly lastIds: Map<string, number>;
}

export function openWorld(clock: () => number): World {
  return {
    clock,
    time: clock(),
    agenda: [],
    users: new Map(),
    projects: new Map(),
    experiments: new Map(),
    jobs: new Map(),
    builds: new Map(),
    groups: new Map(),
    lastIds: new Map(),
  };
}

/** An id that no record of the series ever had. */
export function nextId(world: World, series: string): number {
  const id = (world.lastIds.get(series) ?? 0) + 1;
  world.lastIds.set(series, id);
  return id;
}

type Given<R extends Run, Needed extends keyof R> = Pick<R, Needed | "project" | "user" | "createdAt"> &
  Partial<Omit<R, "kind">>;

/** Puts a new experiment into the world, without a history: `follow` or `plan` gives it one. */
export function addExperiment(world: World, given: Given<Experiment, "recipe" | "replicas">): Experiment {
  const experiment: Experiment = {
    ...blank(world, "experiment", given),
    group: null,
    build: null,
    original: null,
    declarations: null,
    resources: null,
    metrics: [],
    hasTensorboard: null,
    remark: null,
    ...given,
    kind: "experiment",
  };
  world.experiments.set(experiment.id, experiment);
  return experiment;
}

export function addJob(world: World, given: Given<Job, "recipe" | "node">): Job {
  const job: Job = {
    ...blank(world, "job", given),
    build: null,
    original: null,
    resources: null,
    ...given,
    kind: "job",
  };
  world.jobs.set(job.id, job);
  return job;
}

export function addBuild(world: World, given: Given<Build, "recipe" | "node" | "commit">): Build {
  const build: Build = { ...blank(world, "build", given), resources: null, ...given, kind: "build" };
  world.builds.set(build.id, build);
  return build;
}

export function addGroup(world: World, given: Given<Group, "search">): Group {
  const group: Group = { ...blank(world, "group", given), hasTensorboard: null, ...given, kind: "group" };
  world.groups.set(group.id, group);
  return group;
}

function blank(world: World, kind: Run["kind"], given: { id?: number; createdAt: number }) {
  const id = given.id ?? nextId(world, kind);
  world.lastIds.set(kind, Math.max(id, world.lastIds.get(kind) ?? 0));
  return {
    id,
    name: null,
    description: null,
    tags: null,
    updatedAt: given.createdAt,
    statuses: [] as Status[],
    bookmarkedBy: new Set<string>(),
    pace: 1_500,
  };
}

export function experimentsOf(world: World, group: Group): Experiment[] {
  return [...world.experiments.values()].filter((experiment) => experiment.group === group);
}
