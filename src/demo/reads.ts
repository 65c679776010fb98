import { readable } from "./access.ts";
import { type Answer, type Exchange, type Handler, json, notFound } from "./exchange.ts";
import { experiments, type Kind } from "./kinds.ts";
import type { Experiment, Metric, Replica, Run } from "./model.ts";
import { gzipped, metricLimit, page } from "./pages.ts";
import { metricRecord } from "./records.ts";
import { replicaRecord, replicasOf, replicaStatuses, replicaStatusRecord } from "./replicas.ts";

export function show<R extends Run>(kind: Kind<R>): Handler {
  return (exchange) => json(200, kind.record(exchange.world, readable(exchange, kind), viewerName(exchange)));
}

/** Whose bookmarks a record shows. */
export function viewerName({ caller }: Exchange): string {
  return caller?.username ?? "";
}

export function statuses<R extends Run>(kind: Kind<R>): Handler {
  return (exchange) => {
    const run = readable(exchange, kind);
    return page(exchange, run.statuses, (status) => kind.status(run, status));
  };
}

export function metrics(exchange: Exchange): Answer {
  const experiment = readable(exchange, experiments);
  const render = (metric: Metric) => metricRecord(experiment, metric);
  return gzipped(page(exchange, experiment.metrics, render, metricLimit));
}

/** The jobs of an experiment, newest first: the document does not say, and servers answer so. */
export function experimentJobs(exchange: Exchange): Answer {
  const experiment = readable(exchange, experiments);
  return page(exchange, replicasOf(experiment).toReversed(), (replica) => replicaRecord(experiment, replica));
}

export function experimentJob(exchange: Exchange): Answer {
  const { experiment, replica } = replicaOf(exchange);
  return json(200, replicaRecord(experiment, replica));
}

export function experimentJobStatuses(exchange: Exchange): Answer {
  const { experiment, replica } = replicaOf(exchange);
  return page(exchange, replicaStatuses(experiment, replica), (status) =>
    replicaStatusRecord(replica, status),
  );
}

/** The job of an experiment that the path names. */
export function replicaOf(exchange: Exchange): { experiment: Experiment; replica: Replica } {
  const experiment = readable(exchange, experiments, "experiment_id");
  const id = Number(exchange.params["id"]);
  const replica = replicasOf(experiment).find((candidate) => candidate.id === id);
  if (!replica) throw notFound();
  return { experiment, replica };
}
