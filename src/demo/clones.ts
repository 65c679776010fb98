import { signedIn, writable } from "./access.ts";
import { isFields } from "./body.ts";
import { launch, launchExperiment } from "./course.ts";
import { type Answer, type Exchange, type Handler, json } from "./exchange.ts";
import { experiments, jobs } from "./kinds.ts";
import { machineNames } from "./machines.ts";
import type { Experiment, Group, Run } from "./model.ts";
import { viewerName } from "./reads.ts";
import { jobRecord, reducedExperiment } from "./records.ts";
import { addExperiment, addJob, nextId } from "./store.ts";

// The document does not say: a restarted or copied experiment leaves its group and a resumed one stays in it,
// as recorded.
export const restartExperiment = cloneExperiment(() => null);
export const resumeExperiment = cloneExperiment(({ group }) => group);
export const copyExperiment = cloneExperiment(() => null);

/** Makes a new run from the experiment of the path and sets it going; it has no build. */
function cloneExperiment(groupOf: (source: Experiment) => Group | null): Handler {
  return (exchange) => {
    const { world } = exchange;
    const source = writable(exchange, experiments);
    const clone = addExperiment(world, {
      ...start(exchange, source),
      group: groupOf(source),
      original: source,
      recipe: source.recipe,
      declarations: source.declarations,
      resources: source.resources,
      replicas: [{ id: nextId(world, "experiment job"), role: "master", node: machineNames[0] }],
    });
    launchExperiment(world, clone);
    return json(201, reducedExperiment(clone));
  };
}

/** Restart, resume and copy of a job do the same: all of them run it once more. */
export function cloneJob(exchange: Exchange): Answer {
  const { world } = exchange;
  const source = writable(exchange, jobs);
  const clone = addJob(world, {
    ...start(exchange, source),
    original: source,
    recipe: source.recipe,
    resources: source.resources,
    node: machineNames[0],
  });
  launch(world, clone);
  return json(201, jobRecord(world, clone, viewerName(exchange)));
}

/** What a new run takes from its source and from the request, whose body may give another description. */
function start(exchange: Exchange, source: Run) {
  const body = exchange.body();
  const given = isFields(body) ? body["description"] : undefined;
  return {
    project: source.project,
    user: signedIn(exchange).username,
    description: typeof given === "string" ? given : source.description,
    createdAt: exchange.world.time,
    pace: 500,
  };
}
