import { mayRead, projectOf, readable, signedIn } from "./access.ts";
import { revokeSuperuser } from "./accounts.ts";
import { type Answer, type Exchange, type Handler, notFound, Refusal, type Route } from "./exchange.ts";
import { experimentKeys, jobKeys, type Keys, readQuery, runKeys } from "./filters.ts";
import { builds, experiments, groups, jobs, type Kind } from "./kinds.ts";
import { logOf, tellExperiment } from "./logs.ts";
import type { Project, Run } from "./model.ts";
import { comparison, experimentOrder, type Order, runOrder } from "./orders.ts";
import { experimentFiles, jobFiles, outputs } from "./outputs.ts";
import { gzipped, metricLimit, page } from "./pages.ts";
import { replicaOf, viewerName } from "./reads.ts";
import { metricRecord } from "./records.ts";
import { experimentsOf } from "./store.ts";
import { projectName, timestamp, uuid, type Wire } from "./wire.ts";

/** What a list knows of its kind. */
interface Listing<R extends Run> {
  readonly kind: Kind<R>;
  /** What error texts call the kind. */
  readonly manager: string;
  readonly keys: Keys<R>;
  readonly order: Order<R>;
  /** Keys of the full record that its rows lack. */
  readonly omitted: readonly string[];
}

/** Lists the runs of a project. `?group=` and `?independent=true` narrow a list of experiments. */
function list<R extends Run>({ kind, manager, keys, order, omitted }: Listing<R>): Handler {
  return (exchange) => {
    const project = projectOf(exchange);
    const isWanted = readQuery(exchange.query.get("query") ?? "", manager, keys);
    const isMember = membership(exchange, project);
    const runs = [...kind.all(exchange.world).values()].filter((run) => {
      return run.project === project && isMember(run) && isWanted(run);
    });
    const sorted = runs.toSorted(comparison(exchange.query.get("sort") ?? "", order));
    return page(exchange, sorted, (run) => {
      const record = kind.record(exchange.world, run, viewerName(exchange));
      return Object.fromEntries(Object.entries(record).filter(([key]) => !omitted.includes(key)));
    });
  };
}

function membership({ world, query }: Exchange, project: Project): (run: Run) => boolean {
  const id = query.get("group");
  const isIndependent = query.get("independent") === "true";
  if (id === null) return (run) => !isIndependent || run.kind !== "experiment" || run.group === null;
  if (isIndependent) {
    throw new Refusal(400, [
      "You cannot filter for independent experiments and group experiments at the same time.",
    ]);
  }
  const group = world.groups.get(Number(id));
  if (group?.project !== project) throw notFound();
  return (run) => run.kind === "experiment" && run.group === group;
}

const experimentList = list({
  kind: experiments,
  manager: "experiment",
  keys: experimentKeys,
  order: experimentOrder,
  omitted: ["config", "resources", "num_jobs", "is_clone", "has_tensorboard"],
});

const jobList = list({
  kind: jobs,
  manager: "job",
  keys: jobKeys,
  order: runOrder,
  omitted: ["config", "is_clone", "resources", "node_scheduled"],
});

const buildList = list({
  kind: builds,
  manager: "build",
  keys: runKeys,
  order: runOrder,
  omitted: ["config", "resources", "node_scheduled", "num_jobs", "num_experiments", "dockerfile", "commit"],
});

const groupList = list({
  kind: groups,
  manager: "experiment_group",
  keys: runKeys,
  order: runOrder,
  omitted: [
    "content",
    "hptuning",
    "current_iteration",
    "num_experiments",
    "num_pending_experiments",
    "num_running_experiments",
    "num_scheduled_experiments",
    "num_succeeded_experiments",
    "num_failed_experiments",
    "num_stopped_experiments",
  ],
});

/** The projects of an owner that the caller may see; an unknown owner has none. */
function projectList(exchange: Exchange): Answer {
  const caller = signedIn(exchange);
  const projects = [...exchange.world.projects.values()].filter((project) => {
    return project.owner === exchange.params["owner"] && mayRead(caller, project);
  });
  return page(exchange, projects.toReversed(), projectRecord);
}

function projectRecord(project: Project): Wire {
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
    updated_at: timestamp(project.createdAt),
    is_public: project.isPublic,
    bookmarked: false,
  };
}

/** What all experiments of a group recorded, oldest first. */
function groupMetrics(exchange: Exchange): Answer {
  const group = readable(exchange, groups);
  const metrics = experimentsOf(exchange.world, group)
    .flatMap((experiment) => experiment.metrics.map((metric) => ({ experiment, metric })))
    .toSorted((a, b) => a.metric.at - b.metric.at || a.metric.id - b.metric.id);
  return page(exchange, metrics, ({ experiment, metric }) => metricRecord(experiment, metric), metricLimit);
}

function experimentJobLog(exchange: Exchange): Answer {
  const { experiment, replica } = replicaOf(exchange);
  return logOf(exchange.world, experiment, (run, line, at) => {
    return `${replica.role} on ${replica.node}: ${tellExperiment(run, line, at)}`;
  });
}

/** What release 0.4.4 offers beside the rows of the document, or spells in another way. */
export const listRoutes: readonly Route[] = [
  { method: "GET", path: "{owner}", handler: projectList },
  {
    method: "GET",
    path: "{owner}/{project}/experiments",
    handler: async (exchange) => gzipped(await experimentList(exchange)),
  },
  { method: "GET", path: "{owner}/{project}/jobs", handler: jobList },
  { method: "GET", path: "{owner}/{project}/builds", handler: buildList },
  { method: "GET", path: "{owner}/{project}/groups", handler: groupList },
  { method: "GET", path: "{owner}/{project}/groups/{id}/metrics", handler: groupMetrics },
  {
    method: "GET",
    path: "{owner}/{project}/experiments/{experiment_id}/jobs/{id}/logs",
    handler: experimentJobLog,
  },
  {
    method: "GET",
    path: "{owner}/{project}/experiments/{id}/outputs/download",
    handler: outputs(experiments, experimentFiles),
  },
  {
    method: "GET",
    path: "{owner}/{project}/jobs/{id}/outputs/download",
    handler: outputs(jobs, jobFiles),
  },
  { method: "POST", path: "superusers/revoke/{username}", handler: revokeSuperuser },
];
