/** The state of one demo service. Times are milliseconds since 1970; records refer to each other by reference. */

export interface User {
  readonly username: string;
  readonly password: string;
  readonly email: string;
  readonly token: string;
  isSuperuser: boolean;
  isActive: boolean;
}

/** An object that users can bookmark and archive. */
export interface Keepable {
  /** The users who bookmarked the object. Later bookmarks have greater numbers. */
  readonly bookmarkedBy: Map<string, number>;
  /** Whether lists leave it out. */
  isArchived: boolean;
}

export interface Project extends Keepable {
  readonly id: number;
  readonly owner: string;
  /** A renamed project keeps its entry in the store's table, under its new name. */
  name: string;
  description: string | null;
  readme: string | null;
  tags: readonly string[] | null;
  isPublic: boolean;
  readonly createdAt: number;
  updatedAt: number;
}

export interface Status {
  readonly id: number;
  readonly at: number;
  readonly status: string;
  readonly message: string | null;
}

export interface Metric {
  readonly id: number;
  readonly at: number;
  readonly values: Readonly<Record<string, unknown>>;
  readonly latest: Readonly<Record<string, unknown>>;
}

/** How the image is built and the command that runs in it; a build has no command. */
export interface RunConfig {
  readonly image: string;
  readonly steps: readonly string[];
  readonly cmd: string;
  /** The specification that a run was created with: an object, a string, or null. Absent from other runs. */
  readonly specification?: unknown;
}

interface Resource {
  readonly requests: number;
  readonly limits: number;
}

type Resources = Readonly<Record<"cpu" | "memory" | "gpu", Resource | null>>;

export type Declarations = Readonly<Record<string, unknown>>;

/** The common fields of experiments, jobs, builds and groups. */
interface Tracked extends Keepable {
  readonly id: number;
  readonly project: Project;
  /** The creator, who is not always the owner of the project. */
  readonly user: string;
  name: string | null;
  description: string | null;
  tags: readonly string[] | null;
  /** Notes in Markdown. Builds have none. */
  readme: string | null;
  readonly createdAt: number;
  updatedAt: number;
  /** Oldest first; never empty once the run has been started. */
  readonly statuses: Status[];
  /** Milliseconds between two lines of its log. */
  readonly logInterval: number;
}

/** One job of an experiment; its statuses are derived from those of the experiment. */
export interface Replica {
  readonly id: number;
  readonly role: "master" | "worker";
  readonly node: string;
}

/** The version of the code that an experiment runs. */
export interface Code {
  readonly id: number;
  readonly branch: string;
  readonly commit: string;
  readonly head: string;
  readonly isDirty: boolean;
}

/** How a run was created from its original. */
export type Strategy = "restart" | "resume" | "copy";

export interface Experiment extends Tracked {
  readonly kind: "experiment";
  group: Group | null;
  build: Build | null;
  original: Experiment | null;
  readonly strategy: Strategy | null;
  readonly code: Code | null;
  readonly config: RunConfig;
  readonly declarations: Declarations | null;
  readonly resources: Resources | null;
  readonly metrics: Metric[];
  readonly replicas: readonly Replica[];
  hasTensorboard: boolean | null;
  /** A sentence that its log repeats, or null if there is none. */
  readonly remark: string | null;
}

export interface Job extends Tracked {
  readonly kind: "job";
  build: Build | null;
  original: Job | null;
  readonly strategy: Strategy | null;
  readonly config: RunConfig;
  readonly resources: Resources | null;
  /** The node on which it is placed when it is scheduled. */
  readonly node: string;
}

export interface Build extends Tracked {
  readonly kind: "build";
  readonly config: RunConfig;
  readonly resources: Resources | null;
  readonly node: string;
  readonly commit: string;
}

export interface Group extends Tracked {
  readonly kind: "group";
  /** Null for a selection, which creates no experiments. */
  readonly search: Search | null;
  /** The experiments that a selection shows; none of them was created by it. */
  readonly selected: ReadonlySet<Experiment>;
  hasTensorboard: boolean | null;
}

/** The search of a study: the file that its author wrote and the settings read from it. */
export interface Search {
  readonly algorithm: "random" | "grid" | "hyperband" | "bo";
  readonly concurrency: number;
  readonly content: string;
  /** The section `hptuning` of the file. */
  readonly tuning: Readonly<Record<string, unknown>>;
}

export type Run = Experiment | Job | Build | Group;

/** The cluster's nodes, as `node_scheduled` names them. */
export const nodeNames = ["node-1", "node-2", "gpu-node.eu-1"] as const;

/** Something that happens once at a given time. */
export interface ScheduledEvent {
  readonly at: number;
  /** The run that the event affects. If the run is removed, the event is cancelled. */
  readonly run: Run | null;
  readonly apply: () => void;
}

export interface Store {
  readonly clock: () => number;
  /** The time up to which events have been applied. It never decreases. */
  time: number;
  /** Pending events, soonest first. */
  schedule: ScheduledEvent[];
  readonly users: Map<string, User>;
  /** Projects by their names `<owner>.<name>`. */
  readonly projects: Map<string, Project>;
  readonly runs: {
    readonly experiment: Map<number, Experiment>;
    readonly job: Map<number, Job>;
    readonly build: Map<number, Build>;
    readonly group: Map<number, Group>;
  };
  /** Greatest id assigned so far, by series of ids. */
  readonly lastIds: Map<string, number>;
}

export function createStore(clock: () => number): Store {
  return {
    clock,
    time: clock(),
    schedule: [],
    users: new Map(),
    projects: new Map(),
    runs: { experiment: new Map(), job: new Map(), build: new Map(), group: new Map() },
    lastIds: new Map(),
  };
}

/** An id that no record of the series has ever had. */
export function nextId(store: Store, series: string): number {
  const id = (store.lastIds.get(series) ?? 0) + 1;
  store.lastIds.set(series, id);
  return id;
}

export function bookmark(store: Store, { bookmarkedBy }: Keepable, username: string): void {
  bookmarkedBy.set(username, nextId(store, "bookmark"));
}

type Given<R extends Run, Required extends keyof R> = Pick<R, Required | "project" | "user" | "createdAt"> &
  Partial<Omit<R, "kind">>;

/** Adds an experiment without a status. A timeline sets it later. */
export function addExperiment(store: Store, given: Given<Experiment, "config" | "replicas">): Experiment {
  const experiment: Experiment = {
    ...defaults(store, "experiment", given),
    group: null,
    build: null,
    original: null,
    strategy: null,
    code: null,
    declarations: null,
    resources: null,
    metrics: [],
    hasTensorboard: null,
    remark: null,
    ...given,
    kind: "experiment",
  };
  store.runs.experiment.set(experiment.id, experiment);
  return experiment;
}

export function addJob(store: Store, given: Given<Job, "config" | "node">): Job {
  const unset = { build: null, original: null, strategy: null, resources: null };
  const job: Job = { ...defaults(store, "job", given), ...unset, ...given, kind: "job" };
  store.runs.job.set(job.id, job);
  return job;
}

export function addBuild(store: Store, given: Given<Build, "config" | "node" | "commit">): Build {
  const build: Build = { ...defaults(store, "build", given), resources: null, ...given, kind: "build" };
  store.runs.build.set(build.id, build);
  return build;
}

export function addGroup(store: Store, given: Given<Group, "search">): Group {
  const unset = { selected: new Set<Experiment>(), hasTensorboard: null };
  const group: Group = { ...defaults(store, "group", given), ...unset, ...given, kind: "group" };
  store.runs.group.set(group.id, group);
  return group;
}

function defaults(store: Store, kind: Run["kind"], given: { id?: number; createdAt: number }) {
  const id = given.id ?? nextId(store, kind);
  store.lastIds.set(kind, Math.max(id, store.lastIds.get(kind) ?? 0));
  return {
    id,
    name: null,
    description: null,
    tags: null,
    readme: null,
    updatedAt: given.createdAt,
    statuses: [] as Status[],
    bookmarkedBy: new Map<string, number>(),
    isArchived: false,
    logInterval: 1_500,
  };
}

/** The experiments that belong to a group, without those that it has selected. */
export function experimentsOf(store: Store, group: Group): Experiment[] {
  return [...store.runs.experiment.values()].filter((experiment) => experiment.group === group);
}

/** Whether lists show an experiment as one of the group. */
export function isMember(experiment: Experiment, group: Group): boolean {
  return experiment.group === group || group.selected.has(experiment);
}

/** The experiments of a group that lists show. */
export function listedExperimentsOf(store: Store, group: Group): Experiment[] {
  const { experiment } = store.runs;
  return [...experiment.values()].filter((each) => isMember(each, group) && !each.isArchived);
}

/** A name that no run in the project has: the given one or, if it is taken, one with a number. */
export function freeName(runs: Iterable<Run>, project: Project, name: string): string {
  const taken = new Set([...runs].flatMap((run) => (run.project === project ? [run.name] : [])));
  let free = name;
  for (let number = 1; taken.has(free); number += 1) free = `${name}-${number}`;
  return free;
}
