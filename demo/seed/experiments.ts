import { applySteps, applyTraining, pseudoRandom, scheduleTraining, type Training } from "../simulation.ts";
import { headOf } from "../newer-keys.ts";
import {
  addExperiment,
  bookmark,
  type Build,
  type Code,
  type Declarations,
  type Experiment,
  nextId,
  nodeNames,
  type Project,
  type Store,
} from "../store.ts";
import type { Projects } from "./people.ts";

const [smallNode, largeNode, gpuNode] = nodeNames;

/** How an experiment ended. */
interface FinishedSpec extends ExperimentSpec {
  readonly end: "succeeded" | "failed" | "stopped";
  readonly message?: string;
}

const outOfMemory =
  "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (15.90 GiB total capacity)";

/** The independent experiments; 42 has every optional value. */
export function seedExperiments(store: Store, projects: Projects): void {
  const { mnist, speech, vision } = projects;
  const add = ({ end, message, ...given }: FinishedSpec): Experiment => {
    const experiment = addFromSpec(store, given);
    applyTraining(store, experiment, usualTraining(experiment.id, end, message));
    return experiment;
  };

  const baseline = add({
    id: 1,
    project: mnist,
    name: "baseline",
    description: "Two convolutions, nothing else",
    tags: ["baseline", "cnn"],
    declarations: { lr: 0.01, dropout: 0, batch_size: 64 },
    build: 1,
    end: "succeeded",
  });
  bookmark(store, baseline, "grace");
  add({ id: 2, project: mnist, declarations: { lr: 0.02, dropout: 0 }, build: 1, end: "succeeded" });
  add({
    id: 3,
    project: mnist,
    description: "Larger batches",
    declarations: { lr: 0.02, dropout: 0, batch_size: 4_096 },
    build: 2,
    end: "failed",
    message: outOfMemory,
  });
  const deeper = add({
    id: 4,
    project: mnist,
    name: "deeper",
    description: "Four convolutions",
    tags: ["cnn"],
    declarations: { lr: 0.05, dropout: 0.25, activation: "relu", batch_size: 64 },
    build: 2,
    nodes: [gpuNode],
    end: "succeeded",
  });
  add({ id: 5, project: mnist, declarations: { lr: 0.1, dropout: 0.5 }, build: 1, end: "stopped" });
  add({ id: 6, project: speech, declarations: { lr: 0.005, dropout: 0.3 }, build: 7, end: "succeeded" });
  const exhausted = add({
    id: 7,
    project: speech,
    declarations: { lr: 0.08, dropout: 0.3 },
    build: 7,
    end: "failed",
    message: outOfMemory,
  });
  exhausted.isArchived = true;
  add({
    id: 8,
    project: vision,
    name: "first-light",
    declarations: { lr: 0.01 },
    build: 6,
    end: "succeeded",
  });
  for (const id of [29, 30, 31, 32, 33]) {
    const declarations = { lr: 0.004 * (id - 28), dropout: 0.3 };
    add({ id, project: vision, declarations, build: 6, end: id === 32 ? "failed" : "succeeded" });
  }
  for (const id of [34, 35, 36]) {
    add({
      id,
      project: speech,
      declarations: { lr: 0.02, dropout: (id - 33) / 10 },
      build: 7,
      end: "succeeded",
    });
  }
  const copy = add({
    id: 37,
    project: mnist,
    description: "The deeper network once more, on another machine",
    tags: ["cnn"],
    original: deeper,
    strategy: "copy",
    declarations: deeper.declarations ?? {},
    build: 2,
    nodes: [largeNode],
    end: "succeeded",
  });
  const interrupted = add({
    id: 38,
    project: vision,
    declarations: { lr: 0.015, dropout: 0.3 },
    build: 6,
    end: "stopped",
  });
  add({ id: 39, project: mnist, declarations: { lr: 0.02, dropout: 0.1 }, build: 4, end: "succeeded" });
  add({ id: 40, project: mnist, declarations: { lr: 0.02, dropout: 0.2 }, build: 4, end: "succeeded" });

  const unbuilt = addFromSpec(store, { id: 41, project: mnist, declarations: { lr: 0.02 }, build: 3 });
  const reason = "Build ada.mnist.builds.3 failed";
  applySteps(store, unbuilt, [
    [0, "created"],
    [21, "building"],
    [190, "upstream_failed", reason],
  ]);

  const wide = add({
    id: 42,
    project: mnist,
    name: "wide-kernels",
    description: "Wider kernels and a calmer learning rate, trained on three machines",
    tags: ["cnn", "candidate"],
    original: copy,
    strategy: "restart",
    readme:
      "## Wider kernels\n\n5 × 5 instead of 3 × 3 costs a fifth more time, and is *worth it*: compare with experiment 37.\n",
    declarations: { lr: 0.021, dropout: 0.25, activation: "relu", batch_size: 64, kernel: 5 },
    resources: {
      cpu: { requests: 2, limits: 4 },
      memory: { requests: 4_096, limits: 8_192 },
      gpu: { requests: 1, limits: 1 },
    },
    build: 2,
    nodes: [gpuNode, smallNode, largeNode, gpuNode],
    remark: "Zwischenstand gesichert – überprüft ✓ 学習は順調です 🚀",
    end: "succeeded",
  });
  bookmark(store, wide, "ada");

  for (const { minutes, ...given } of [
    { id: 59, project: speech, build: 7, minutes: 12 },
    { id: 60, project: vision, build: 6, minutes: 9, original: interrupted, strategy: "resume" as const },
  ]) {
    const createdAt = store.time - minutes * 60_000;
    const declarations = { lr: 0.015, dropout: 0.3 };
    const experiment = addFromSpec(store, {
      ...given,
      declarations,
      createdAt,
      logInterval: 3_000,
    });
    scheduleTraining(store, experiment, { epochs: 60, epochSeconds: 30, end: "succeeded" });
  }
}

type Optional = Pick<
  Experiment,
  | "name"
  | "description"
  | "tags"
  | "createdAt"
  | "group"
  | "original"
  | "strategy"
  | "readme"
  | "resources"
  | "remark"
  | "logInterval"
>;

/** The required and optional values of a seeded experiment. */
export interface ExperimentSpec extends Partial<Optional> {
  readonly id: number;
  readonly project: Project;
  readonly declarations: Declarations;
  /** Id of its build; null if it has none. */
  readonly build: number | null;
  /** Nodes of its jobs, the master's first. By default one node, chosen by the id. */
  readonly nodes?: readonly string[];
}

/** Adds an experiment that trains with its declarations, without a status yet. */
export function addFromSpec(store: Store, { build, nodes, ...given }: ExperimentSpec): Experiment {
  const found = build === null ? undefined : store.runs.build.get(build);
  const defaultNode = nodeNames[given.id % nodeNames.length] ?? nodeNames[0];
  const flags = Object.entries(given.declarations).map(([name, value]) => ` --${name}=${String(value)}`);
  return addExperiment(store, {
    user: given.project.owner,
    createdAt: Date.UTC(2026, 1, 16, 8, 5) + given.id * 11_220_337,
    build: found ?? null,
    code: found ? codeOf(found, given.id) : null,
    config: {
      image: found?.config.image ?? "python:3.6",
      steps: found?.config.steps ?? [],
      cmd: `python train.py${flags.join("")}`,
    },
    replicas: (nodes ?? [defaultNode]).map((node, index) => ({
      id: nextId(store, "experiment job"),
      role: index === 0 ? "master" : "worker",
      node,
    })),
    ...given,
  });
}

/** The code that a build contains. Every third experiment was started with uncommitted changes. */
const codeOf = ({ id, commit, project }: Build, experiment: number): Code => ({
  id,
  branch: id === 2 ? "wide-kernels" : "master",
  commit,
  head: headOf(project),
  isDirty: experiment % 3 === 0,
});

/** A training of 20 to 60 epochs that ends in a given status. */
export function usualTraining(id: number, end: string, message?: string): Training {
  const epochs = 20 + Math.floor(pseudoRandom(`epochs ${id}`) * 41);
  return { epochs, epochSeconds: 11 + Math.floor(pseudoRandom(`pace ${id}`) * 9), end, message };
}
