import { createHash } from "node:crypto";

import { removeRun, repeat, scheduleSteps, scheduleTraining } from "../simulation.ts";
import { addBuild, addGroup, addJob, nextId, nodeNames, type Project, type Store } from "../store.ts";
import { addProject } from "./people.ts";
import { addMember, narrowSpace, searchOf } from "./searches.ts";

const [smallNode, largeNode] = nodeNames;
const config = { image: "python:3.6", steps: ["pip install -U numpy"], cmd: "" };

/** How long a run of the project is kept, in milliseconds. */
const retention = 3_600_000;

/**
 * Adds a project in which, at any time, a search records metrics, a build is building and a job is running. Each lasts longer than the
 * interval at which the next one starts.
 */
export function seedActivity(store: Store): void {
  const project = addProject(store, {
    id: 4,
    owner: "ada",
    name: "live",
    description: "A search, builds and jobs that start again and again",
    tags: ["demo"],
    readme: null,
    isPublic: true,
  });
  const start = (seconds: number, add: (store: Store, project: Project, at: number) => void) => {
    const interval = seconds * 1_000;
    repeat(store, { first: store.time - interval, interval }, (at) => {
      removeOldRuns(store, project, at - retention);
      // After a long pause between requests, starts only the runs that are still kept.
      if (at >= store.time - retention) add(store, project, at);
    });
  };
  start(120, addBuilding);
  start(150, addRunning);
  start(300, addSearch);
}

function removeOldRuns(store: Store, project: Project, before: number): void {
  const { group, experiment, job, build } = store.runs;
  for (const runs of [group, experiment, job, build]) {
    for (const run of runs.values()) {
      if (run.project === project && run.createdAt < before) removeRun(store, run);
    }
  }
}

/** A build that is building for longer than two minutes. */
function addBuilding(store: Store, project: Project, createdAt: number): void {
  const commit = createHash("sha1").update(`commit at ${createdAt}`).digest("hex");
  const build = addBuild(store, { project, user: "ada", createdAt, config, node: largeNode, commit });
  scheduleSteps(store, build, [
    [0, "created"],
    [4, "scheduled"],
    [10, "building"],
    [140, "running"],
    [170, "succeeded"],
  ]);
}

/** A job that ends after less than three minutes. */
function addRunning(store: Store, project: Project, createdAt: number): void {
  const command = { ...config, cmd: "python evaluate.py" };
  const job = addJob(store, { project, user: "ada", createdAt, config: command, node: smallNode });
  scheduleSteps(store, job, [
    [0, "created"],
    [4, "scheduled"],
    [10, "building"],
    [15, "running"],
    [175, "succeeded"],
  ]);
}

/** Seconds that each experiment of a search waits. Two run at a time and alternately record metrics. */
const waits = [45, 47, 200, 202];

/** A search of less than seven minutes that records metrics every two seconds from its second minute on. */
function addSearch(store: Store, project: Project, createdAt: number): void {
  const search = searchOf(narrowSpace, { concurrency: 2, size: waits.length });
  const group = addGroup(store, { project, user: "ada", createdAt, search });
  scheduleSteps(store, group, [
    [0, "created"],
    [6, "running"],
  ]);
  for (const [trial, wait] of waits.entries()) {
    // They are created one after the other, as on real servers. Otherwise the newest would also be the one that changed last.
    const member = { id: nextId(store, "experiment"), trial, createdAt: createdAt + trial };
    const experiment = addMember(store, group, { ...member, build: null, space: narrowSpace });
    const training = { wait, epochs: 40, epochSeconds: 4, end: "succeeded" };
    scheduleTraining(store, experiment, training);
  }
}
