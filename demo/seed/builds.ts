import { createHash } from "node:crypto";

import { applySteps, scheduleSteps, type Step } from "../simulation.ts";
import { addBuild, addJob, type Build, type Job, nodeNames, type Project, type Store } from "../store.ts";
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

/** The builds 1 to 5 of ada/mnist (3 failed, 5 is running), and one for each other project. */
export function seedBuilds(store: Store, { mnist, speech, vision }: Projects): void {
  const numpy = { image: "python:3.6", steps: ["pip install --no-cache-dir -U numpy"], cmd: "" };
  const torch = {
    image: "pytorch/pytorch:0.4.1",
    steps: ["apt-get update", "pip install -U numpy scipy"],
    cmd: "",
  };
  const add = (id: number, project: Project, given: Pick<Build, "config" | "node"> & Partial<Build>) => {
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
  const pillow = { ...torch, steps: [...torch.steps, "pip install -U pillow"] };
  succeed(add(4, mnist, { config: pillow, node: gpuNode }));
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

/** The jobs 1 to 6 of ada/mnist and one for each other project. */
export function seedJobs(store: Store, { mnist, speech, vision }: Projects): void {
  const build = store.runs.build.get(1) ?? null;
  const config = {
    image: "python:3.6",
    steps: ["pip install -U numpy"],
    cmd: "python prepare.py --out=/data/mnist",
  };
  const running = (cmd: string) => ({ ...config, cmd: `python ${cmd}` });
  const add = (id: number, project: Project, given: Pick<Job, "node"> & Partial<Job>): Job => {
    const createdAt = Date.UTC(2026, 1, 13, 7, 30) + id * 32_400_619;
    return addJob(store, { id, project, user: project.owner, createdAt, config, ...given });
  };

  const prep = add(1, mnist, {
    name: "prep",
    description: "Unpack, normalise and shuffle the digits",
    tags: ["etl"],
    build,
    resources: { cpu: { requests: 1, limits: 2 }, memory: { requests: 1_024, limits: 2_048 }, gpu: null },
    node: smallNode,
  });
  applySteps(store, prep, [...begin, [611, "succeeded"]]);

  const large = add(3, mnist, {
    description: "All augmentations in one pass",
    build,
    config: running("prepare.py --augment=all"),
    node: largeNode,
  });
  applySteps(store, large, [...begin, [388, "failed", "OOMKilled: memory limit of 2048 MiB"]]);

  // Its node has left the cluster: it cannot be looked up.
  const orphaned = add(4, mnist, {
    user: "linus",
    name: "statistics",
    build: store.runs.build.get(2) ?? null,
    config: running("statistics.py"),
    node: "node-9",
  });
  applySteps(store, orphaned, [...begin, [455, "succeeded"]]);

  const copy = add(5, mnist, {
    description: "Unpack, normalise and shuffle the digits",
    original: prep,
    strategy: "restart",
    node: largeNode,
  });
  applySteps(store, copy, [...begin, [590, "succeeded"]]);

  const stopped = add(6, mnist, { description: "Stopped before it found a place", build, node: gpuNode });
  applySteps(store, stopped, [
    [0, "created"],
    [12, "unschedulable", "0/3 nodes are available: 3 Insufficient cpu."],
    [340, "stopping"],
    [342, "stopped"],
  ]);

  const tiles = add(7, vision, {
    name: "tiles",
    build: store.runs.build.get(6) ?? null,
    config: running("cut_tiles.py --size=256"),
    node: gpuNode,
  });
  applySteps(store, tiles, [...begin, [702, "succeeded"]]);

  const evaluate = add(2, mnist, {
    name: "evaluate",
    description: "Scores every checkpoint of the search",
    createdAt: store.time - 20 * minute,
    build,
    config: running("evaluate.py --watch"),
    node: gpuNode,
    logInterval: 3_000,
  });
  scheduleSteps(store, evaluate, [...begin, [5_400, "succeeded"]]);

  const segment = add(8, speech, {
    createdAt: store.time - 14 * minute,
    build: store.runs.build.get(7) ?? null,
    config: running("segment.py"),
    node: largeNode,
    logInterval: 3_000,
  });
  scheduleSteps(store, segment, [...begin, [3_600, "succeeded"]]);
}
