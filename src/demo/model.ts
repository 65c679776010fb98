/** What the demo service holds. Times are milliseconds since 1970; references are the things themselves. */

export interface User {
  readonly username: string;
  readonly password: string;
  readonly email: string;
  readonly token: string;
  isSuperuser: boolean;
  isActive: boolean;
}

export interface Project {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly isPublic: boolean;
  readonly createdAt: number;
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
}

/** How the image is made and, except for a build, what is run in it. */
export interface Recipe {
  readonly image: string;
  readonly steps: readonly string[];
  readonly cmd: string;
}

interface Resource {
  readonly requests: number;
  readonly limits: number;
}

type Resources = Readonly<Record<"cpu" | "memory" | "gpu", Resource | null>>;

export type Declarations = Readonly<Record<string, string | number | boolean>>;

/** What experiments, jobs, builds and groups have in common. */
interface Tracked {
  readonly id: number;
  readonly project: Project;
  /** Who made it; need not be the project's owner. */
  readonly user: string;
  readonly name: string | null;
  description: string | null;
  readonly tags: readonly string[] | null;
  readonly createdAt: number;
  updatedAt: number;
  /** Oldest first, never empty once the run has been set going. */
  readonly statuses: Status[];
  readonly bookmarkedBy: Set<string>;
  /** Milliseconds from one line of its log to the next. */
  readonly pace: number;
}

/** One replica of an experiment; its statuses follow from those of the experiment. */
export interface Replica {
  readonly id: number;
  readonly role: "master" | "worker";
  readonly node: string;
}

export interface Experiment extends Tracked {
  readonly kind: "experiment";
  group: Group | null;
  build: Build | null;
  original: Experiment | null;
  readonly recipe: Recipe;
  readonly declarations: Declarations | null;
  readonly resources: Resources | null;
  readonly metrics: Metric[];
  readonly replicas: readonly Replica[];
  hasTensorboard: boolean | null;
  /** A sentence that its log repeats, or null. */
  readonly remark: string | null;
}

export interface Job extends Tracked {
  readonly kind: "job";
  build: Build | null;
  original: Job | null;
  readonly recipe: Recipe;
  readonly resources: Resources | null;
  /** Where it is placed as soon as it is scheduled. */
  readonly node: string;
}

export interface Build extends Tracked {
  readonly kind: "build";
  readonly recipe: Recipe;
  readonly resources: Resources | null;
  readonly node: string;
  readonly commit: string;
}

export interface Group extends Tracked {
  readonly kind: "group";
  readonly search: Search;
  hasTensorboard: boolean | null;
}

/** A random search: the text that somebody wrote and the settings read from it. */
export interface Search {
  readonly concurrency: number;
  /** How many experiments it makes. */
  readonly size: number;
  readonly content: string;
  readonly matrix: Readonly<Record<string, unknown>>;
}

export type Run = Experiment | Job | Build | Group;

/** The run's present status. */
export function lastStatus(run: { readonly statuses: readonly Status[] }): string {
  return run.statuses.at(-1)?.status ?? "created";
}

const final: ReadonlySet<string> = new Set(["succeeded", "failed", "upstream_failed", "stopped", "skipped"]);

/** Whether a status is one that a run does not leave by itself. */
export function isFinal(status: string): boolean {
  return final.has(status);
}

/** When the statuses first reached `running`, and when they first reached an end; null before that. */
export function span(statuses: readonly Status[]): { startedAt: number | null; finishedAt: number | null } {
  return {
    startedAt: statuses.find(({ status }) => status === "running")?.at ?? null,
    finishedAt: statuses.find(({ status }) => isFinal(status))?.at ?? null,
  };
}
