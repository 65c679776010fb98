import { createHash } from "node:crypto";

import { follow, plan } from "./course.ts";
import { history, type Step } from "./histories.ts";
import { machineNames } from "./machines.ts";
import type { Build, Project } from "./model.ts";
import type { Projects } from "./seed-people.ts";
import { addBuild, addJob, type World } from "./store.ts";

const [smallMachine, largeMachine, gpuMachine] = machineNames;

const minute = 60_000;

/** Seconds after creation until a job or a build runs. */
const begin: readonly Step[] = [
  [0, "created"],
  [7, "scheduled"],
  [16, "building"],
  [48, "running"],
];

/** The builds 1 to 5 of ada/mnist, of which 3 failed and 5 is under way, and one for each other project. */
export function seedBuilds(world: World, { mnist, speech, vision }: Projects): void {
  const numpy = { image: "python:3.6", steps: ["pip install --no-cache-dir -U numpy"], cmd: "" };
  const torch = {
    image: "pytorch/pytorch:0.4.1",
    steps: ["apt-get update", "pip install -U numpy scipy"],
    cmd: "",
  };
  const add = (
    id: number,
    project: Project,
    given: Pick<Build, "recipe" | "node"> & Partial<Build>,
  ): Build => {
    const commit = createHash("sha1").update(`commit of build ${id}`).digest("hex");
    const createdAt = Date.UTC(2026, 1, 11, 9) + id * 18_000_271;
    return addBuild(world, { id, project, user: project.owner, createdAt, commit, ...given });
  };
  const succeed = (build: Build) =>
    follow(world, build, history(build.createdAt, [...begin, [412, "succeeded"]]));

  succeed(add(1, mnist, { description: "Base image", tags: ["base"], recipe: numpy, node: smallMachine }));
  succeed(
    add(2, mnist, { name: "torch", description: "Image for the GPU runs", recipe: torch, node: gpuMachine }),
  );
  const broken = add(3, mnist, {
    description: "Newer interpreter",
    recipe: { ...numpy, image: "python:3.9-slim", steps: ["pip install -U numpy==1.13"] },
    node: largeMachine,
  });
  const complaint = "The command '/bin/sh -c pip install -U numpy==1.13' returned a non-zero code: 1";
  follow(world, broken, history(broken.createdAt, [...begin, [171, "failed", complaint]]));
  succeed(
    add(4, mnist, {
      recipe: { ...torch, steps: [...torch.steps, "pip install -U pillow"] },
      node: gpuMachine,
    }),
  );
  succeed(add(6, vision, { description: "Base image", recipe: torch, node: gpuMachine }));
  succeed(
    add(7, speech, { recipe: { ...numpy, steps: ["pip install -U numpy librosa"] }, node: largeMachine }),
  );

  const running = add(5, mnist, {
    name: "nightly",
    description: "Rebuilt from the main branch",
    tags: ["nightly"],
    createdAt: world.time - 3 * minute,
    recipe: { ...torch, steps: ["apt-get update", "pip install -U numpy scipy pillow"] },
    node: largeMachine,
  });
  plan(world, running, history(running.createdAt, [...begin, [470, "succeeded"]]));
}

const at = (id: number) => Date.UTC(2026, 1, 13, 7, 30) + id * 32_400_619;

/** The jobs 1 to 6 of ada/mnist and one for each other project. */
export function seedJobs(world: World, { mnist, speech, vision }: Projects): void {
  const build = world.builds.get(1) ?? null;
  const prepare = {
    image: "python:3.6",
    steps: ["pip install -U numpy"],
    cmd: "python prepare.py --out=/data/mnist",
  };

  const prep = addJob(world, {
    id: 1,
    project: mnist,
    user: "ada",
    name: "prep",
    description: "Unpack, normalise and shuffle the digits",
    tags: ["etl"],
    createdAt: at(1),
    build,
    recipe: prepare,
    resources: { cpu: { requests: 1, limits: 2 }, memory: { requests: 1_024, limits: 2_048 }, gpu: null },
    node: smallMachine,
  });
  follow(world, prep, history(prep.createdAt, [...begin, [611, "succeeded"]]));

  const large = addJob(world, {
    id: 3,
    project: mnist,
    user: "ada",
    description: "All augmentations in one pass",
    createdAt: at(3),
    build,
    recipe: { ...prepare, cmd: "python prepare.py --augment=all" },
    node: largeMachine,
  });
  follow(
    world,
    large,
    history(large.createdAt, [...begin, [388, "failed", "OOMKilled: memory limit of 2048 MiB"]]),
  );

  // This machine has left the cluster: the name of the node leads nowhere.
  const departed = addJob(world, {
    id: 4,
    project: mnist,
    user: "linus",
    name: "statistics",
    createdAt: at(4),
    build: world.builds.get(2) ?? null,
    recipe: { ...prepare, cmd: "python statistics.py" },
    node: "node-9",
  });
  follow(world, departed, history(departed.createdAt, [...begin, [455, "succeeded"]]));

  const again = addJob(world, {
    id: 5,
    project: mnist,
    user: "ada",
    description: "Unpack, normalise and shuffle the digits",
    createdAt: at(5),
    original: prep,
    recipe: prepare,
    node: largeMachine,
  });
  follow(world, again, history(again.createdAt, [...begin, [590, "succeeded"]]));

  const halted = addJob(world, {
    id: 6,
    project: mnist,
    user: "ada",
    description: "Stopped before it found a place",
    createdAt: at(6),
    build,
    recipe: prepare,
    node: gpuMachine,
  });
  const unplaced: Step[] = [
    [0, "created"],
    [12, "unschedulable", "0/3 nodes are available: 3 Insufficient cpu."],
    [340, "stopping"],
    [342, "stopped"],
  ];
  follow(world, halted, history(halted.createdAt, unplaced));

  const tiles = addJob(world, {
    id: 7,
    project: vision,
    user: "grace",
    name: "tiles",
    createdAt: at(7),
    build: world.builds.get(6) ?? null,
    recipe: { ...prepare, cmd: "python cut_tiles.py --size=256" },
    node: gpuMachine,
  });
  follow(world, tiles, history(tiles.createdAt, [...begin, [702, "succeeded"]]));

  const running = addJob(world, {
    id: 2,
    project: mnist,
    user: "ada",
    name: "evaluate",
    description: "Scores every checkpoint of the search",
    createdAt: world.time - 20 * minute,
    build,
    recipe: { ...prepare, cmd: "python evaluate.py --watch" },
    node: gpuMachine,
    pace: 3_000,
  });
  plan(world, running, history(running.createdAt, [...begin, [5_400, "succeeded"]]));

  const secret = addJob(world, {
    id: 8,
    project: speech,
    user: "ada",
    createdAt: world.time - 14 * minute,
    build: world.builds.get(7) ?? null,
    recipe: { ...prepare, cmd: "python segment.py" },
    node: largeMachine,
    pace: 3_000,
  });
  plan(world, secret, history(secret.createdAt, [...begin, [3_600, "succeeded"]]));
}
