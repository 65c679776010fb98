import { follow, plan } from "./course.ts";
import { career, history } from "./histories.ts";
import { machineNames } from "./machines.ts";
import type { Experiment } from "./model.ts";
import type { Projects } from "./seed-people.ts";
import { addSketch, ordinaryCareer, type Sketch } from "./sketch.ts";
import type { World } from "./store.ts";

const [smallMachine, largeMachine, gpuMachine] = machineNames;

/** How a single experiment went that has ended. */
interface Story extends Sketch {
  readonly end: "succeeded" | "failed" | "stopped";
  readonly message?: string;
}

const outOfMemory =
  "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (15.90 GiB total capacity)";

/** The experiments that stand outside the groups; 42 is the one with everything. */
export function seedExperiments(world: World, projects: Projects): void {
  const { mnist, speech, vision } = projects;
  const tell = ({ end, message, ...given }: Story): Experiment => {
    const experiment = addSketch(world, given);
    follow(world, experiment, career(experiment, ordinaryCareer(experiment.id, end, message)));
    return experiment;
  };

  const baseline = tell({
    id: 1,
    project: mnist,
    name: "baseline",
    description: "Two convolutions, nothing else",
    tags: ["baseline", "cnn"],
    declarations: { lr: 0.01, dropout: 0, batch_size: 64 },
    build: 1,
    end: "succeeded",
  });
  baseline.bookmarkedBy.add("grace");
  tell({ id: 2, project: mnist, declarations: { lr: 0.02, dropout: 0 }, build: 1, end: "succeeded" });
  tell({
    id: 3,
    project: mnist,
    description: "Larger batches",
    declarations: { lr: 0.02, dropout: 0, batch_size: 4_096 },
    build: 2,
    end: "failed",
    message: outOfMemory,
  });
  const deeper = tell({
    id: 4,
    project: mnist,
    name: "deeper",
    description: "Four convolutions",
    tags: ["cnn"],
    declarations: { lr: 0.05, dropout: 0.25, activation: "relu", batch_size: 64 },
    build: 2,
    nodes: [gpuMachine],
    end: "succeeded",
  });
  tell({ id: 5, project: mnist, declarations: { lr: 0.1, dropout: 0.5 }, build: 1, end: "stopped" });
  tell({ id: 6, project: speech, declarations: { lr: 0.005, dropout: 0.3 }, build: 7, end: "succeeded" });
  tell({
    id: 7,
    project: speech,
    declarations: { lr: 0.08, dropout: 0.3 },
    build: 7,
    end: "failed",
    message: outOfMemory,
  });
  tell({
    id: 8,
    project: vision,
    name: "first-light",
    declarations: { lr: 0.01 },
    build: 6,
    end: "succeeded",
  });
  for (const id of [29, 30, 31, 32, 33]) {
    const declarations = { lr: 0.004 * (id - 28), dropout: 0.3 };
    tell({ id, project: vision, declarations, build: 6, end: id === 32 ? "failed" : "succeeded" });
  }
  for (const id of [34, 35, 36]) {
    tell({
      id,
      project: speech,
      declarations: { lr: 0.02, dropout: (id - 33) / 10 },
      build: 7,
      end: "succeeded",
    });
  }
  const copy = tell({
    id: 37,
    project: mnist,
    description: "The deeper network once more, on another machine",
    tags: ["cnn"],
    original: deeper,
    declarations: deeper.declarations ?? {},
    build: 2,
    nodes: [largeMachine],
    end: "succeeded",
  });
  tell({ id: 38, project: vision, declarations: { lr: 0.03 }, build: 6, end: "stopped" });
  tell({ id: 39, project: mnist, declarations: { lr: 0.02, dropout: 0.1 }, build: 4, end: "succeeded" });
  tell({ id: 40, project: mnist, declarations: { lr: 0.02, dropout: 0.2 }, build: 4, end: "succeeded" });

  const unbuilt = addSketch(world, { id: 41, project: mnist, declarations: { lr: 0.02 }, build: 3 });
  const reason = "Build ada.mnist.builds.3 failed";
  follow(
    world,
    unbuilt,
    history(unbuilt.createdAt, [
      [0, "created"],
      [21, "building"],
      [190, "upstream_failed", reason],
    ]),
  );

  const wide = tell({
    id: 42,
    project: mnist,
    name: "wide-kernels",
    description: "Wider kernels and a calmer learning rate, trained on three machines",
    tags: ["cnn", "candidate"],
    original: copy,
    declarations: { lr: 0.021, dropout: 0.25, activation: "relu", batch_size: 64, kernel: 5 },
    resources: {
      cpu: { requests: 2, limits: 4 },
      memory: { requests: 4_096, limits: 8_192 },
      gpu: { requests: 1, limits: 1 },
    },
    build: 2,
    nodes: [gpuMachine, smallMachine, largeMachine, gpuMachine],
    remark: "Zwischenstand gesichert – überprüft ✓ 学習は順調です 🚀",
    end: "succeeded",
  });
  wide.bookmarkedBy.add("ada");

  for (const { id, project, build, minutes } of [
    { id: 59, project: speech, build: 7, minutes: 12 },
    { id: 60, project: vision, build: 6, minutes: 9 },
  ]) {
    const createdAt = world.time - minutes * 60_000;
    const declarations = { lr: 0.015, dropout: 0.3 };
    const experiment = addSketch(world, { id, project, build, declarations, createdAt, pace: 3_000 });
    plan(world, experiment, career(experiment, { epochs: 60, every: 30, end: "succeeded" }));
  }
}
