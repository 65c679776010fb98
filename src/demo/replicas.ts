import { type Experiment, lastStatus, type Replica, type Status } from "./model.ts";
import { timestamp, times, uniqueName, uuid, type Wire } from "./wire.ts";

/** The jobs of an experiment: they exist from the moment it is scheduled. */
export function replicasOf(experiment: Experiment): readonly Replica[] {
  return experiment.statuses.some(({ status }) => status === "scheduled") ? experiment.replicas : [];
}

/** More than a replica ever has statuses, so that its status ids can be counted up from its own id. */
const idsPerReplica = 16;

/** The statuses of a job of an experiment, made from those of the experiment. */
export function replicaStatuses(experiment: Experiment, replica: Replica): Status[] {
  const scheduled = experiment.statuses.findIndex(({ status }) => status === "scheduled");
  const since = experiment.statuses.slice(scheduled);
  return since
    .flatMap((status) => {
      if (status.status === "scheduled") return [{ ...status, status: "created" }, status];
      // A job goes through `building` where its experiment goes through `starting`.
      return status.status === "starting" ? [{ ...status, status: "building" }] : [status];
    })
    .map((status, index) => ({ ...status, id: replica.id * idsPerReplica + index }));
}

export function replicaRecord(experiment: Experiment, replica: Replica): Wire {
  const statuses = replicaStatuses(experiment, replica);
  const createdAt = statuses[0]?.at ?? experiment.createdAt;
  return {
    id: replica.id,
    uuid: uuid("experiment job", replica.id),
    unique_name: `${uniqueName(experiment)}.${replica.id}.${replica.role}`,
    role: replica.role,
    experiment: experiment.id,
    last_status: lastStatus({ statuses }),
    ...times({ createdAt, updatedAt: statuses.at(-1)?.at ?? createdAt, statuses }),
    resources: experiment.resources,
    node_scheduled: replica.node,
  };
}

/** The document leaves the shape open; this is the recorded one, whose `details` are sometimes an object. */
export function replicaStatusRecord(replica: Replica, { id, at, status, message }: Status): Wire {
  return {
    id,
    uuid: uuid("experiment job status", id),
    created_at: timestamp(at),
    message,
    status,
    details: status === "running" ? { event_type: "MODIFIED" } : null,
    job: replica.id,
  };
}
