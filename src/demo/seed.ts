import { settle } from "./course.ts";
import { seedBuilds, seedJobs } from "./seed-builds.ts";
import { seedExperiments } from "./seed-experiments.ts";
import { seedProjects, seedUsers } from "./seed-people.ts";
import { seedSearches } from "./seed-searches.ts";
import type { World } from "./store.ts";

/**
 * Fills a new world. What has ended carries fixed dates in February 2026; what is under way was begun some
 * minutes before the service started and goes on.
 */
export function seed(world: World): void {
  seedUsers(world);
  const projects = seedProjects(world);
  seedBuilds(world, projects);
  seedJobs(world, projects);
  seedExperiments(world, projects);
  seedSearches(world, projects);
  settle(world);
}
