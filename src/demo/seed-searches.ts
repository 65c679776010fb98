import { follow, plan } from "./course.ts";
import { career, history } from "./histories.ts";
import type { Declarations, Experiment, Group, Search } from "./model.ts";
import type { Projects } from "./seed-people.ts";
import { addSketch, ordinaryCareer } from "./sketch.ts";
import { addGroup, type World } from "./store.ts";

const minute = 60_000;
const outOfMemory =
  "RuntimeError: CUDA out of memory. Tried to allocate 256.00 MiB (15.90 GiB total capacity)";

/** What a search tries. */
interface Space {
  /** First, last, and how many evenly spaced learning rates. */
  readonly rates: readonly [start: number, stop: number, num: number];
  readonly dropouts: readonly number[];
  readonly activations: readonly string[];
}

const wideSpace: Space = {
  rates: [0.001, 0.101, 5],
  dropouts: [0.25, 0.3, 0.5],
  activations: ["relu", "sigmoid"],
};

const narrowSpace: Space = { rates: [0.015, 0.035, 5], dropouts: [0.25, 0.3], activations: ["relu", "tanh"] };

/** The two searches of ada/mnist: 1 has nearly ended and 2 is in full swing. */
export function seedSearches(world: World, { mnist }: Projects): void {
  const wide = addGroup(world, {
    id: 1,
    project: mnist,
    user: "ada",
    name: "sweep",
    description: "Which learning rate, which dropout, which activation?",
    tags: ["search"],
    createdAt: Date.UTC(2026, 1, 17, 11),
    search: search(wideSpace, { concurrency: 3, size: 24 }),
  });
  wide.bookmarkedBy.add("ada");
  seedEnded(world, wide);
  seedRunning(world, wide);
  // Only now: a running group ends as soon as all experiments that it has have ended.
  follow(
    world,
    wide,
    history(wide.createdAt, [
      [0, "created"],
      [12, "running"],
    ]),
  );

  const narrow = addGroup(world, {
    id: 2,
    project: mnist,
    user: "ada",
    description: "Around the best corner of the first search",
    createdAt: world.time - 25 * minute,
    search: search(narrowSpace, { concurrency: 5, size: 12 }),
  });
  plan(
    world,
    narrow,
    history(narrow.createdAt, [
      [0, "created"],
      [12, "running"],
    ]),
  );
  seedStaggered(world, narrow);
}

const failed: ReadonlySet<number> = new Set([12, 20, 27]);
const stopped: ReadonlySet<number> = new Set([17, 24]);

/** Experiments 9 to 28. */
function seedEnded(world: World, group: Group): void {
  for (let id = 9; id <= 28; id += 1) {
    const experiment = addMember(world, group, {
      id,
      build: id < 20 ? 1 : 2,
      space: wideSpace,
      trial: id - 9,
    });
    const [end, message] = endOf(id);
    follow(world, experiment, career(experiment, ordinaryCareer(id, end, message)));
  }
}

function endOf(id: number): [status: string, message?: string] {
  if (failed.has(id)) return ["failed", outOfMemory];
  return [stopped.has(id) ? "stopped" : "succeeded"];
}

/** Experiments 43 to 46: three run and one finds no machine. */
function seedRunning(world: World, group: Group): void {
  for (const [id, age] of [
    [43, 58],
    [44, 45],
    [45, 31],
  ] as const) {
    const createdAt = world.time - age * minute;
    const experiment = addMember(world, group, { id, build: 2, space: wideSpace, trial: id - 23, createdAt });
    plan(world, experiment, career(experiment, { epochs: 60, every: 60, end: "succeeded" }));
  }
  const createdAt = world.time - 29 * minute;
  const unplaced = addMember(world, group, { id: 46, build: 2, space: wideSpace, trial: 23, createdAt });
  const reason = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.";
  plan(
    world,
    unplaced,
    history(createdAt, [
      [0, "created"],
      [21, "building"],
      [75, "unschedulable", reason],
    ]),
  );
}

/** Seconds that each of the experiments 47 to 58 waits for its turn; the search began 1500 seconds ago. */
const waits = [64, 66, 71, 1_080, 1_142, 1_230, 1_490, 1_497, 1_640, 1_725, 1_790, 1_950];

function seedStaggered(world: World, group: Group): void {
  for (const [trial, wait] of waits.entries()) {
    const id = 47 + trial;
    const { createdAt } = group;
    const experiment = addMember(world, group, { id, build: 4, space: narrowSpace, trial, createdAt });
    plan(world, experiment, career(experiment, { wait, epochs: 24 + trial, every: 15, end: "succeeded" }));
  }
}

interface Member {
  readonly id: number;
  readonly build: number;
  readonly space: Space;
  /** Which combination of the space it tries. */
  readonly trial: number;
  readonly createdAt?: number;
}

function addMember(world: World, group: Group, { space, trial, ...given }: Member): Experiment {
  const declarations = combination(space, trial);
  return addSketch(world, { ...given, project: group.project, group, declarations });
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

function search(
  { rates: [start, stop, num], dropouts, activations }: Space,
  size: Pick<Search, "concurrency" | "size">,
): Search {
  const content = `---
version: 1

kind: group

hptuning:
  concurrency: ${size.concurrency}
  random_search:
    n_experiments: ${size.size}
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
    ...size,
    content,
    matrix: {
      lr: { linspace: { num, start, stop } },
      dropout: { values: dropouts },
      activation: { values: activations },
    },
  };
}
