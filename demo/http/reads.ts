import { experiments, groups, type Kind } from "../kinds.ts";
import { codeReferenceRecord, uuid } from "../newer-keys.ts";
import {
  type JsonRecord,
  metricRecord,
  projectName,
  replicaRecord,
  replicaStatusRecord,
  timestamp,
} from "../records.ts";
import { replicasOf, replicaStatuses } from "../simulation.ts";
import {
  type Experiment,
  isMember,
  listedExperimentsOf,
  type Metric,
  type Project,
  type Replica,
  type Run,
} from "../store.ts";
import { findReadable, mayRead, projectOf, requireUser, usernameOf } from "./accounts.ts";
import { parseQuery } from "./filters.ts";
import { gzipped, metricLimit, page } from "./lists.ts";
import { type DemoRequest, type DemoResponse, type Handler, HttpError, json, notFound } from "./messages.ts";
import { compareBy } from "./orders.ts";

export function show<R extends Run>(kind: Kind<R>): Handler {
  return (request) => json(200, kind.record(request.store, findReadable(request, kind), usernameOf(request)));
}

export function statuses<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    const run = findReadable(request, kind);
    return page(request, run.statuses, (status) => kind.status(run, status));
  };
}

export function metrics(request: DemoRequest): DemoResponse {
  const experiment = findReadable(request, experiments);
  const render = (metric: Metric) => metricRecord(experiment, metric);
  return gzipped(page(request, experiment.metrics, render, metricLimit));
}

// The document does not define the order; real servers list the newest first.
export function experimentJobs(request: DemoRequest): DemoResponse {
  const experiment = findReadable(request, experiments);
  return page(request, replicasOf(experiment).toReversed(), (replica) => replicaRecord(experiment, replica));
}

export function experimentJob(request: DemoRequest): DemoResponse {
  const { experiment, replica } = replicaOf(request);
  return json(200, replicaRecord(experiment, replica));
}

export function experimentJobStatuses(request: DemoRequest): DemoResponse {
  const { experiment, replica } = replicaOf(request);
  return page(request, replicaStatuses(experiment, replica), (status) =>
    replicaStatusRecord(replica, status),
  );
}

/** The job of an experiment that the path names. */
export function replicaOf(request: DemoRequest): { experiment: Experiment; replica: Replica } {
  const experiment = findReadable(request, experiments, "experiment_id");
  const id = Number(request.params["id"]);
  const replica = replicasOf(experiment).find((candidate) => candidate.id === id);
  if (!replica) throw notFound();
  return { experiment, replica };
}

/** Lists the runs of a project. `?group=` and `?independent=true` narrow a list of experiments. */
export function list<R extends Run>(kind: Kind<R>): (request: DemoRequest) => DemoResponse {
  return (request) => {
    const project = projectOf(request);
    const isMatch = parseQuery(request.query.get("query") ?? "", kind.manager, kind.filterKeys);
    const isWanted = membership(request, project);
    const runs = [...kind.all(request.store).values()].filter((run) => {
      return run.project === project && !run.isArchived && isWanted(run) && isMatch(run);
    });
    const sorted = runs.toSorted(compareBy(request.query.get("sort") ?? "", kind.sortKeys));
    return page(request, sorted, (run) => rowOf(request, kind, run));
  };
}

/** A run as a list shows it. */
export function rowOf<R extends Run>(request: DemoRequest, kind: Kind<R>, run: R): JsonRecord {
  const record = kind.record(request.store, run, usernameOf(request));
  return Object.fromEntries(Object.entries(record).filter(([key]) => !kind.omittedInLists.includes(key)));
}

/** The predicate of `?group=` and `?independent=true`. */
function membership({ store, query }: DemoRequest, project: Project): (run: Run) => boolean {
  const id = query.get("group");
  const isIndependent = query.get("independent") === "true";
  if (id === null) return (run) => !isIndependent || run.kind !== "experiment" || run.group === null;
  if (isIndependent) {
    throw new HttpError(400, [
      "You cannot filter for independent experiments and group experiments at the same time.",
    ]);
  }
  const group = store.runs.group.get(Number(id));
  if (group?.project !== project) throw notFound();
  return (run) => run.kind === "experiment" && isMember(run, group);
}

/** The projects of an owner that the caller may see; an unknown owner has none. */
export function projectList(request: DemoRequest): DemoResponse {
  const caller = requireUser(request);
  const projects = [...request.store.projects.values()].filter((project) => {
    return project.owner === request.params["owner"] && !project.isArchived && mayRead(caller, project);
  });
  return page(request, projects.toReversed(), (project) => projectRow(project, caller.username));
}

/** A project as a list shows it. */
export function projectRow(project: Project, viewer: string): JsonRecord {
  return {
    id: project.id,
    uuid: uuid("project", project.id),
    user: project.owner,
    name: project.name,
    owner: project.owner,
    unique_name: projectName(project),
    description: project.description,
    tags: project.tags,
    created_at: timestamp(project.createdAt),
    updated_at: timestamp(project.updatedAt),
    is_public: project.isPublic,
    bookmarked: project.bookmarkedBy.has(viewer),
  };
}

/** A project with the keys that its rows in lists lack. */
export function projectDetail(request: DemoRequest): DemoResponse {
  return json(200, projectRecord(request, projectOf(request)));
}

/** A project with its readme and its counts. */
export function projectRecord(request: DemoRequest, found: Project): JsonRecord {
  const { experiment, group, job, build } = request.store.runs;
  const isListed = (run: Run) => run.project === found && !run.isArchived;
  const countOf = (runs: ReadonlyMap<number, Run>) => [...runs.values()].filter(isListed).length;
  const independent = [...experiment.values()].filter((run) => isListed(run) && !run.group);
  return {
    ...projectRow(found, usernameOf(request)),
    readme: found.readme,
    has_code: true,
    tensorboard: null,
    notebook: null,
    has_tensorboard: null,
    has_notebook: null,
    num_experiment_groups: countOf(group),
    num_independent_experiments: independent.length,
    num_experiments: countOf(experiment),
    num_jobs: countOf(job),
    num_builds: countOf(build),
  };
}

export function codeReference(request: DemoRequest): DemoResponse {
  return json(200, codeReferenceRecord(findReadable(request, experiments).code));
}

/** The metrics of all experiments of a group, oldest first. */
export function groupMetrics(request: DemoRequest): DemoResponse {
  const group = findReadable(request, groups);
  const recorded = listedExperimentsOf(request.store, group)
    .flatMap((experiment) => experiment.metrics.map((metric) => ({ experiment, metric })))
    .toSorted((a, b) => a.metric.at - b.metric.at || a.metric.id - b.metric.id);
  return page(request, recorded, ({ experiment, metric }) => metricRecord(experiment, metric), metricLimit);
}
