import { chance } from "./curves.ts";
import type { Career } from "./histories.ts";
import { machineNames } from "./machines.ts";
import type { Declarations, Experiment, Project } from "./model.ts";
import { addExperiment, nextId, type World } from "./store.ts";

type Optional = Pick<
  Experiment,
  "name" | "description" | "tags" | "createdAt" | "group" | "original" | "resources" | "remark" | "pace"
>;

/** What must be said of an experiment of the seed, and what can be. */
export interface Sketch extends Partial<Optional> {
  readonly id: number;
  readonly project: Project;
  readonly declarations: Declarations;
  /** Id of its build; null where it has none. */
  readonly build: number | null;
  /** Machines of its jobs, the master's first; one of the cluster's by turns where nothing is said. */
  readonly nodes?: readonly string[];
}

/** Adds an experiment that trains with its declarations, as yet without a history. */
export function addSketch(world: World, { build, nodes, ...given }: Sketch): Experiment {
  const found = build === null ? undefined : world.builds.get(build);
  const turn = machineNames[given.id % machineNames.length] ?? machineNames[0];
  const flags = Object.entries(given.declarations).map(([name, value]) => ` --${name}=${String(value)}`);
  return addExperiment(world, {
    user: given.project.owner,
    createdAt: Date.UTC(2026, 1, 16, 8, 5) + given.id * 11_220_337,
    build: found ?? null,
    recipe: {
      image: found?.recipe.image ?? "python:3.6",
      steps: found?.recipe.steps ?? [],
      cmd: `python train.py${flags.join("")}`,
    },
    replicas: (nodes ?? [turn]).map((node, index) => ({
      id: nextId(world, "experiment job"),
      role: index === 0 ? "master" : "worker",
      node,
    })),
    ...given,
  });
}

/** A career of 20 to 60 epochs that ends in a given way. */
export function ordinaryCareer(id: number, end: string, message?: string): Career {
  const epochs = 20 + Math.floor(chance(`epochs ${id}`) * 41);
  return { epochs, every: 11 + Math.floor(chance(`pace ${id}`) * 9), end, message };
}
