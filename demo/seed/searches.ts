import { applySteps, applyTraining, scheduleSteps, scheduleTraining } from "../simulation.ts";
import {
  addGroup,
  bookmark,
  type Declarations,
  type Experiment,
  type Group,
  type Search,
  type Store,
} from "../store.ts";
import type { Projects } from "./people.ts";
import { addFromSpec, usualTraining } from "./experiments.ts";

const minute = 60_000;
const outOfMemory =
  "RuntimeError: CUDA out of memory. Tried to allocate 256.00 MiB (15.90 GiB total capacity)";

/** The parameters that a search tries. */
interface Space {
  /** First learning rate, last one, and number of evenly spaced rates. */
  readonly rates: readonly [start: number, stop: number, num: number];
  readonly dropouts: readonly number[];
  readonly activations: readonly string[];
}

const wideSpace: Space = {
  rates: [0.001, 0.101, 5],
  dropouts: [0.25, 0.3, 0.5],
  activations: ["relu", "sigmoid"],
};

export const narrowSpace: Space = {
  rates: [0.015, 0.035, 5],
  dropouts: [0.25, 0.3],
  activations: ["relu", "tanh"],
};

/** The two searches of ada/mnist: search 1 has only a few experiments left, search 2 runs five at a time. */
export function seedSearches(store: Store, { mnist }: Projects): void {
  const wide = addGroup(store, {
    id: 1,
    project: mnist,
    user: "ada",
    name: "sweep",
    description: "Which learning rate, which dropout, which activation?",
    tags: ["search"],
    createdAt: Date.UTC(2026, 1, 17, 11),
    search: searchOf(wideSpace, { concurrency: 3, size: 24 }),
  });
  bookmark(store, wide, "ada");
  seedEnded(store, wide);
  seedRunning(store, wide);
  // Last, because a running group ends when all its experiments have ended.
  applySteps(store, wide, [
    [0, "created"],
    [12, "running"],
  ]);

  const narrow = addGroup(store, {
    id: 2,
    project: mnist,
    user: "ada",
    description: "Around the best corner of the first search",
    createdAt: store.time - 25 * minute,
    search: searchOf(narrowSpace, { concurrency: 5, size: 12 }),
  });
  scheduleSteps(store, narrow, [
    [0, "created"],
    [12, "running"],
  ]);
  seedStaggered(store, narrow);
}

const failed: ReadonlySet<number> = new Set([12, 20, 27]);
const stopped: ReadonlySet<number> = new Set([17, 24]);

/** Experiments 9 to 28. */
function seedEnded(store: Store, group: Group): void {
  for (let id = 9; id <= 28; id += 1) {
    const experiment = addMember(store, group, {
      id,
      build: id < 20 ? 1 : 2,
      space: wideSpace,
      trial: id - 9,
    });
    const [end, message] = endOf(id);
    applyTraining(store, experiment, usualTraining(id, end, message));
  }
}

function endOf(id: number): [status: string, message?: string] {
  if (failed.has(id)) return ["failed", outOfMemory];
  return [stopped.has(id) ? "stopped" : "succeeded"];
}

/** Experiments 43 to 46: three run and one is unschedulable. */
function seedRunning(store: Store, group: Group): void {
  for (const [id, age] of [
    [43, 58],
    [44, 45],
    [45, 31],
  ] as const) {
    const createdAt = store.time - age * minute;
    const experiment = addMember(store, group, { id, build: 2, space: wideSpace, trial: id - 23, createdAt });
    scheduleTraining(store, experiment, { epochs: 60, epochSeconds: 60, end: "succeeded" });
  }
  const createdAt = store.time - 29 * minute;
  const unplaced = addMember(store, group, { id: 46, build: 2, space: wideSpace, trial: 23, createdAt });
  const reason = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.";
  scheduleSteps(store, unplaced, [
    [0, "created"],
    [21, "building"],
    [75, "unschedulable", reason],
  ]);
}

/** Seconds that each of the experiments 47 to 58 waits; the search was created 1500 seconds ago. */
const waits = [64, 66, 71, 1_080, 1_142, 1_230, 1_490, 1_497, 1_640, 1_725, 1_790, 1_950];

function seedStaggered(store: Store, group: Group): void {
  for (const [trial, wait] of waits.entries()) {
    const id = 47 + trial;
    // They are created one after the other, as on real servers.
    const createdAt = group.createdAt + trial;
    const experiment = addMember(store, group, { id, build: 4, space: narrowSpace, trial, createdAt });
    scheduleTraining(store, experiment, { wait, epochs: 24 + trial, epochSeconds: 15, end: "succeeded" });
  }
}

interface Member {
  readonly id: number;
  readonly build: number | null;
  readonly space: Space;
  /** Index of the combination of the space that it tries. */
  readonly trial: number;
  readonly createdAt?: number;
}

export function addMember(store: Store, group: Group, { space, trial, ...given }: Member): Experiment {
  const declarations = combination(space, trial);
  return addFromSpec(store, { ...given, project: group.project, group, declarations });
}

function combination(
  { rates: [start, stop, num], dropouts, activations }: Space,
  trial: number,
): Declarations {
  const lr = start + ((stop - start) * (trial % num)) / (num - 1);
  return {
    lr: Number(lr.toFixed(4)),
    dropout: dropouts[Math.floor(trial / num) % dropouts.length] ?? 0,
    activation: activations[Math.floor(trial / num / dropouts.length) % activations.length] ?? "relu",
  };
}

export function searchOf(
  { rates: [start, stop, num], dropouts, activations }: Space,
  { concurrency, size }: Pick<Search, "concurrency"> & { readonly size: number },
): Search {
  const content = `---
version: 1

kind: group

hptuning:
  concurrency: ${concurrency}
  random_search:
    n_experiments: ${size}
  matrix:
    lr:
      linspace: ${start}:${stop}:${num}
    dropout:
      values: [${dropouts.join(", ")}]
    activation:
      values: [${activations.join(", ")}]

build:
  image: pytorch/pytorch:0.4.1
  build_steps:
    - pip install -U numpy scipy

run:
  cmd: python train.py --lr={{ lr }} --dropout={{ dropout }} --activation={{ activation }}
`;
  return {
    algorithm: "random",
    concurrency,
    content,
    tuning: {
      matrix: {
        lr: { linspace: { num, start, stop } },
        dropout: { values: dropouts },
        activation: { values: activations },
      },
      random_search: { n_experiments: size },
    },
  };
}
