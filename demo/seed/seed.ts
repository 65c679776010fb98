import { applyDueEvents } from "../simulation.ts";
import type { Store } from "../store.ts";
import { seedActivity } from "./activity.ts";
import { seedBuilds, seedJobs } from "./builds.ts";
import { seedExperiments } from "./experiments.ts";
import { seedProjects, seedUsers } from "./people.ts";
import { seedSearches } from "./searches.ts";

/**
 * Fills a new store. Finished runs have fixed dates in February 2026. Unfinished runs start some minutes before the service does, and
 * continue.
 */
export function seed(store: Store, { activity }: { activity: boolean }): void {
  seedUsers(store);
  const projects = seedProjects(store);
  seedBuilds(store, projects);
  seedJobs(store, projects);
  seedExperiments(store, projects);
  seedSearches(store, projects);
  if (activity) seedActivity(store);
  applyDueEvents(store);
}
