import { createHash } from "node:crypto";

import { applySteps, scheduleSteps, type Step } from "../simulation.ts";
import { addBuild, addJob, type Build, nodeNames, type Project, type Store } from "../store.ts";
import type { Projects } from "./people.ts";

const [smallNode, largeNode, gpuNode] = nodeNames;

const minute = 60_000;

/** How a job or a build starts, in seconds after its creation. */
const begin: readonly Step[] = [
  [0, "created"],
  [7, "scheduled"],
  [16, "building"],
  [48, "running"],
];

/** The builds 1 to 5 of ada/mnist, of which 3 failed and 5 is running, and one for each other project. */
export function seedBuilds(store: Store, { mnist, speech, vision }: Projects): void {
  const numpy = { image: "python:3.6", steps: ["pip install --no-cache-dir -U numpy"], cmd: "" };
  const torch = {
    image: "pytorch/pytorch:0.4.1",
    steps: ["apt-get update", "pip install -U numpy scipy"],
    cmd: "",
  };
  const add = (
    id: number,
    project: Project,
    given: Pick<Build, "config" | "node"> & Partial<Build>,
  ): Build => {
    const commit = createHash("sha1").update(`commit of build ${id}`).digest("hex");
    const createdAt = Date.UTC(2026, 1, 11, 9) + id * 18_000_271;
    return addBuild(store, { id, project, user: project.owner, createdAt, commit, ...given });
  };
  const succeed = (build: Build) => applySteps(store, build, [...begin, [412, "succeeded"]]);

  succeed(add(1, mnist, { description: "Base image", tags: ["base"], config: numpy, node: smallNode }));
  succeed(
    add(2, mnist, { name: "torch", description: "Image for the GPU runs", config: torch, node: gpuNode }),
  );
  const broken = add(3, mnist, {
    description: "Newer interpreter",
    config: { ...numpy, image: "python:3.9-slim", steps: ["pip install -U numpy==1.13"] },
    node: largeNode,
  });
  const message = "The command '/bin/sh -c pip install -U numpy==1.13' returned a non-zero code: 1";
  applySteps(store, broken, [...begin, [171, "failed", message]]);
  succeed(
    add(4, mnist, {
      config: { ...torch, steps: [...torch.steps, "pip install -U pillow"] },
      node: gpuNode,
    }),
  );
  succeed(add(6, vision, { description: "Base image", config: torch, node: gpuNode }));
  succeed(add(7, speech, { config: { ...numpy, steps: ["pip install -U numpy librosa"] }, node: largeNode }));

  const running = add(5, mnist, {
    name: "nightly",
    description: "Rebuilt from the main branch",
    tags: ["nightly"],
    createdAt: store.time - 3 * minute,
    config: { ...torch, steps: ["apt-get update", "pip install -U numpy scipy pillow"] },
    node: largeNode,
  });
  scheduleSteps(store, running, [...begin, [470, "succeeded"]]);
}

const at = (id: number) => Date.UTC(2026, 1, 13, 7, 30) + id * 32_400_619;

/** The jobs 1 to 6 of ada/mnist and one for each other project. */
export function seedJobs(store: Store, { mnist, speech, vision }: Projects): void {
  const build = store.runs.build.get(1) ?? null;
  const prepare = {
    image: "python:3.6",
    steps: ["pip install -U numpy"],
    cmd: "python prepare.py --out=/data/mnist",
  };

  const prep = addJob(store, {
    id: 1,
    project: mnist,
    user: "ada",
    name: "prep",
    description: "Unpack, normalise and shuffle the digits",
    tags: ["etl"],
    createdAt: at(1),
    build,
    config: prepare,
    resources: { cpu: { requests: 1, limits: 2 }, memory: { requests: 1_024, limits: 2_048 }, gpu: null },
    node: smallNode,
  });
  applySteps(store, prep, [...begin, [611, "succeeded"]]);

  const large = addJob(store, {
    id: 3,
    project: mnist,
    user: "ada",
    description: "All augmentations in one pass",
    createdAt: at(3),
    build,
    config: { ...prepare, cmd: "python prepare.py --augment=all" },
    node: largeNode,
  });
  applySteps(store, large, [...begin, [388, "failed", "OOMKilled: memory limit of 2048 MiB"]]);

  // This node has left the cluster: it cannot be looked up.
  const orphaned = addJob(store, {
    id: 4,
    project: mnist,
    user: "linus",
    name: "statistics",
    createdAt: at(4),
    build: store.runs.build.get(2) ?? null,
    config: { ...prepare, cmd: "python statistics.py" },
    node: "node-9",
  });
  applySteps(store, orphaned, [...begin, [455, "succeeded"]]);

  const copy = addJob(store, {
    id: 5,
    project: mnist,
    user: "ada",
    description: "Unpack, normalise and shuffle the digits",
    createdAt: at(5),
    original: prep,
    config: prepare,
    node: largeNode,
  });
  applySteps(store, copy, [...begin, [590, "succeeded"]]);

  const stopped = addJob(store, {
    id: 6,
    project: mnist,
    user: "ada",
    description: "Stopped before it found a place",
    createdAt: at(6),
    build,
    config: prepare,
    node: gpuNode,
  });
  applySteps(store, stopped, [
    [0, "created"],
    [12, "unschedulable", "0/3 nodes are available: 3 Insufficient cpu."],
    [340, "stopping"],
    [342, "stopped"],
  ]);

  const tiles = addJob(store, {
    id: 7,
    project: vision,
    user: "grace",
    name: "tiles",
    createdAt: at(7),
    build: store.runs.build.get(6) ?? null,
    config: { ...prepare, cmd: "python cut_tiles.py --size=256" },
    node: gpuNode,
  });
  applySteps(store, tiles, [...begin, [702, "succeeded"]]);

  const running = addJob(store, {
    id: 2,
    project: mnist,
    user: "ada",
    name: "evaluate",
    description: "Scores every checkpoint of the search",
    createdAt: store.time - 20 * minute,
    build,
    config: { ...prepare, cmd: "python evaluate.py --watch" },
    node: gpuNode,
    logInterval: 3_000,
  });
  scheduleSteps(store, running, [...begin, [5_400, "succeeded"]]);

  const segment = addJob(store, {
    id: 8,
    project: speech,
    user: "ada",
    createdAt: store.time - 14 * minute,
    build: store.runs.build.get(7) ?? null,
    config: { ...prepare, cmd: "python segment.py" },
    node: largeNode,
    logInterval: 3_000,
  });
  scheduleSteps(store, segment, [...begin, [3_600, "succeeded"]]);
}
