import { cancel, conclude } from "./course.ts";
import type { Build, Experiment, Group, Job, Run, User } from "./model.ts";
import { experimentsOf, type World } from "./store.ts";
import { projectName } from "./wire.ts";

/** An experiment goes with its jobs; what was cloned from it stays, without an original. */
export function removeExperiment(world: World, experiment: Experiment): void {
  cancel(world, experiment);
  world.experiments.delete(experiment.id);
  for (const clone of world.experiments.values()) {
    if (clone.original === experiment) clone.original = null;
  }
  if (experiment.group) conclude(world, experiment.group, world.time);
}

export function removeJob(world: World, job: Job): void {
  cancel(world, job);
  world.jobs.delete(job.id);
  for (const clone of world.jobs.values()) {
    if (clone.original === job) clone.original = null;
  }
}

/** What was built from it stays, without a build. */
export function removeBuild(world: World, build: Build): void {
  cancel(world, build);
  world.builds.delete(build.id);
  for (const run of [...world.experiments.values(), ...world.jobs.values()]) {
    if (run.build === build) run.build = null;
  }
}

/** A group takes its experiments along. */
export function removeGroup(world: World, group: Group): void {
  cancel(world, group);
  world.groups.delete(group.id);
  for (const experiment of experimentsOf(world, group)) {
    experiment.group = null;
    removeExperiment(world, experiment);
  }
}

/** A user goes with the projects that are theirs and the runs that they made anywhere. */
export function forgetUser(world: World, user: User): void {
  const isTheirs = (run: Run) => run.user === user.username || run.project.owner === user.username;
  for (const group of [...world.groups.values()].filter(isTheirs)) removeGroup(world, group);
  for (const experiment of [...world.experiments.values()].filter(isTheirs))
    removeExperiment(world, experiment);
  for (const job of [...world.jobs.values()].filter(isTheirs)) removeJob(world, job);
  for (const build of [...world.builds.values()].filter(isTheirs)) removeBuild(world, build);
  for (const project of world.projects.values()) {
    if (project.owner === user.username) world.projects.delete(projectName(project));
  }
  world.users.delete(user.username);
}
