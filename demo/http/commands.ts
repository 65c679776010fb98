import { experiments, jobs, type Kind } from "../kinds.ts";
import { headOf } from "../newer-keys.ts";
import { jobRecord, metricRecord, reducedExperiment } from "../records.ts";
import { recordMetric, removeRun, startRun, stopRun } from "../simulation.ts";
import {
  addExperiment,
  addJob,
  type Code,
  type Experiment,
  type Group,
  nextId,
  nodeNames,
  type Run,
  type Store,
  type Strategy,
} from "../store.ts";
import { findWritable, mayWrite, projectOf, requireUser, usernameOf } from "./accounts.ts";
import {
  type DemoRequest,
  type DemoResponse,
  empty,
  fieldsOf,
  type Handler,
  HttpError,
  isFields,
  json,
  pythonType,
  slugField,
  textField,
  textsField,
} from "./messages.ts";

/** Changes description, name, tags and readme; other fields are ignored. `updated_at` is refreshed in any case. */
export function update<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    const run = findWritable(request, kind);
    const fields = fieldsOf(request.body());
    // All are read before the first is changed.
    const changes = {
      ...changed(fields, "description", textField),
      ...changed(fields, "name", slugField),
      ...changed(fields, "tags", textsField),
      ...changed(fields, "readme", textField),
    };
    Object.assign(run, changes);
    run.updatedAt = request.store.time;
    return json(200, kind.record(request.store, run, usernameOf(request)));
  };
}

/** Reads a field of a body. Returns nothing if the body does not have it. */
export function changed<Value>(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  read: (name: string, value: unknown) => Value,
): Record<string, Value | null> {
  const value = fields[name];
  return value === undefined ? {} : { [name]: value === null ? null : read(name, value) };
}

export function remove<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    removeRun(request.store, findWritable(request, kind));
    return empty(204);
  };
}

export function stop<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    stopRun(request.store, findWritable(request, kind));
    return empty(200);
  };
}

/** A command for the experiments of a project whose ids are given. Ids of others are skipped. */
const forMany =
  (act: (store: Store, experiment: Experiment) => void): Handler =>
  (request) => {
    const project = projectOf(request, mayWrite);
    const { ids } = fieldsOf(request.body());
    // Real servers crash here; the demo names the error.
    if (!Array.isArray(ids) || !ids.every(Number.isSafeInteger))
      throw new HttpError(400, { ids: ["Expected a list of integers."] });
    for (const id of new Set(ids)) {
      const experiment = request.store.runs.experiment.get(id);
      if (experiment?.project === project) act(request.store, experiment);
    }
    return empty(200);
  };

export const stopExperiments = forMany(stopRun);
export const removeExperiments = forMany(removeRun);

export function startTensorboard<R extends Experiment | Group>(kind: Kind<R>): Handler {
  return (request) => {
    findWritable(request, kind).hasTensorboard = true;
    return empty(201);
  };
}

export function stopTensorboard<R extends Experiment | Group>(kind: Kind<R>): Handler {
  return (request) => {
    findWritable(request, kind).hasTensorboard = false;
    return empty(200);
  };
}

export function postMetric(request: DemoRequest): DemoResponse {
  const experiment = findWritable(request, experiments);
  const { values } = fieldsOf(request.body());
  if (values === undefined) throw new HttpError(400, { values: ["This field is required."] });
  if (values === null) throw new HttpError(400, { values: ["This field may not be null."] });
  // Real servers crash here; the demo names the error.
  if (!isFields(values)) {
    const error = `Expected a dictionary of items but got type "${pythonType(values)}".`;
    throw new HttpError(400, { values: [error] });
  }
  const metric = recordMetric(request.store, experiment, values, request.store.time);
  return json(201, metricRecord(experiment, metric));
}

// The document does not define this: a restarted or copied experiment leaves its group and a resumed one stays in it, as recorded.
export const restartExperiment = cloneExperiment("restart", () => null);
export const resumeExperiment = cloneExperiment("resume", ({ group }) => group);
export const copyExperiment = cloneExperiment("copy", () => null);

/** Creates a run from the experiment of the path and starts it; it has no build. */
function cloneExperiment(strategy: Strategy, groupOf: (source: Experiment) => Group | null): Handler {
  return (request) => {
    const { store } = request;
    const body = request.body();
    const { config, update_code: isUpdated } = isFields(body) ? body : {};
    const given = isFields(config) ? config["declarations"] : null;
    const source = findWritable(request, experiments);
    const clone = addExperiment(store, {
      ...cloneOf(request, source),
      group: groupOf(source),
      original: source,
      strategy,
      code: isUpdated === true ? latestCode(source) : source.code,
      config: source.config,
      // The document does not define this: fields that are not given keep their values.
      declarations: isFields(given) ? { ...source.declarations, ...given } : source.declarations,
      resources: source.resources,
      replicas: [{ id: nextId(store, "experiment job"), role: "master", node: nodeNames[0] }],
    });
    startRun(store, clone);
    return json(201, reducedExperiment(clone));
  };
}

/** Restart, resume and copy of a job do the same: all run it again. */
export const cloneJob =
  (strategy: Strategy) =>
  (request: DemoRequest): DemoResponse => {
    const { store } = request;
    const source = findWritable(request, jobs);
    const clone = addJob(store, {
      ...cloneOf(request, source),
      original: source,
      strategy,
      config: source.config,
      resources: source.resources,
      node: nodeNames[0],
    });
    startRun(store, clone);
    return json(201, jobRecord(store, clone, usernameOf(request)));
  };

/** The source's code as it is now. */
const latestCode = ({ code, project }: Experiment): Code | null =>
  code && { ...code, commit: headOf(project), head: headOf(project), isDirty: false };

/** The fields of a new run, from its source and from the request, whose body may contain another description. */
function cloneOf(request: DemoRequest, source: Run) {
  const body = request.body();
  const given = isFields(body) ? body["description"] : undefined;
  return {
    project: source.project,
    user: requireUser(request).username,
    description: typeof given === "string" ? given : source.description,
    createdAt: request.store.time,
    logInterval: 500,
  };
}
