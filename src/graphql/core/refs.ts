import type {
  MetricRecord as MetricRow,
  StatusRecord as StatusRow,
  TrackedRecord,
  RunnableRecord,
} from "../../rest/api/records.ts";
import { builder } from "./builder.ts";
import type { Address, Handle, Kind } from "./resource.ts";
import { kinds } from "./kinds.ts";

/*
 * Every type that more than one slice speaks of. Declared here, implemented in its slice: so slices never
 * import each other.
 */

const thing = <R extends object, At extends Address>(kind: Kind<R, At>) =>
  Object.assign(builder.objectRef<Handle<R, At>>(kind.name), { kind });

export const Experiment = thing(kinds.experiment);
export const ExperimentJob = thing(kinds.experimentJob);
export const Job = thing(kinds.job);
export const BuildJob = thing(kinds.buildJob);
export const Group = thing(kinds.group);
export const Project = thing(kinds.project);
export const User = thing(kinds.user);
export const Node = thing(kinds.node);
export const Cluster = thing(kinds.cluster);

export const Entity = builder.interfaceRef<Handle>("Entity");
export const Trackable = builder.interfaceRef<Handle<TrackedRecord>>("Trackable");
export const Run = builder.interfaceRef<Handle<RunnableRecord>>("Run");
export const Cloneable = builder.interfaceRef<Handle<{ is_clone?: boolean | null | undefined }>>("Cloneable");
export const Loggable = builder.interfaceRef<Handle>("Loggable");

/** One row of a list below a thing, with the thing. */
export interface Below<Row, Of extends Handle = Handle> {
  readonly row: Row;
  readonly of: Of;
}
export const StatusRecord = builder.objectRef<Below<StatusRow, Handle<TrackedRecord>>>("StatusRecord");
export const MetricRecord = builder.objectRef<Below<MetricRow, typeof Experiment.$inferType>>("MetricRecord");
