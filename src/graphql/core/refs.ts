import type {
  CloneableRecord,
  MetricRecord as UpstreamMetric,
  StatusRecord as UpstreamStatus,
  TrackedRecord,
  RunnableRecord,
} from "../../rest/api/records.ts";
import { builder } from "./builder.ts";
import type { Address, Kind, Resource } from "./resource.ts";
import { kinds } from "./kinds.ts";

/*
 * Refs of the types that several slices use. Declared here and implemented in their slices, so that slices never import
 * each other.
 */

const refOf = <R extends object, At extends Address>(kind: Kind<R, At>) =>
  Object.assign(builder.objectRef<Resource<R, At>>(kind.name), { kind });

export const Experiment = refOf(kinds.experiment);
export const ExperimentJob = refOf(kinds.experimentJob);
export const Job = refOf(kinds.job);
export const BuildJob = refOf(kinds.buildJob);
export const Group = refOf(kinds.group);
export const Project = refOf(kinds.project);
export const User = refOf(kinds.user);
export const Node = refOf(kinds.node);
export const Cluster = refOf(kinds.cluster);

export const Entity = builder.interfaceRef<Resource>("Entity");
export const Trackable = builder.interfaceRef<Resource<TrackedRecord>>("Trackable");
export const Run = builder.interfaceRef<Resource<RunnableRecord>>("Run");
export const Cloneable = builder.interfaceRef<Resource<CloneableRecord>>("Cloneable");
export const Loggable = builder.interfaceRef<Resource>("Loggable");

/** A record of a list below a resource, with the resource. */
export interface ChildOf<Parent extends Resource, Child> {
  readonly parent: Parent;
  readonly record: Child;
}
export const StatusRecord =
  builder.objectRef<ChildOf<Resource<TrackedRecord>, UpstreamStatus>>("StatusRecord");
export const MetricRecord =
  builder.objectRef<ChildOf<typeof Experiment.$inferType, UpstreamMetric>>("MetricRecord");

/** The refs of all kinds. */
export const resourceRefs = {
  experiment: Experiment,
  experimentJob: ExperimentJob,
  job: Job,
  buildJob: BuildJob,
  group: Group,
  project: Project,
  user: User,
  node: Node,
  cluster: Cluster,
} satisfies Record<keyof typeof kinds, unknown>;
