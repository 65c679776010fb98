import type { FieldMap } from "@pothos/core";
import type * as records from "../../rest/api/records.ts";
import { mapped } from "../../rest/api/record.ts";
import type { RunKind } from "../../rest/api/kinds.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, type PothosTypes } from "./builder.ts";
import type { ResourceRef } from "./fields.ts";
import { type Address, type Kind, type Resource, toResource } from "./resource.ts";
import { kinds } from "./kinds.ts";

/* Refs of types that several modules use. The types are implemented in other modules, which therefore need not import each other. */

const refOf = <R extends object, At extends Address>(kind: Kind<R, At>) =>
  Object.assign(builder.objectRef<Resource<R, At>>(kind.name), { kind });

type RefOf<Of> =
  Of extends Kind<infer R extends object, infer At extends Address> ? ReturnType<typeof refOf<R, At>> : never;

// Safe: each ref is created from the kind with its name.
export const resourceRefs = mapped<string, Kind, unknown>(kinds, refOf) as {
  readonly [Name in keyof typeof kinds]: RefOf<(typeof kinds)[Name]>;
};

export const { Experiment, ExperimentJob, Job, BuildJob, Group, Project, User, Node, Cluster } = resourceRefs;
export type ExperimentResource = typeof Experiment.$inferType;

export type RunRef = ResourceRef<records.RunnableRecord, RunAddress> & {
  readonly kind: { readonly run: RunKind };
};
export type RunResource = RunRef["$inferType"];

/** Returns the resource of a record in the list of an experiment's jobs. */
export const jobOf = ({ owner, project, id }: RunAddress, record: records.ExperimentJobRecord) =>
  toResource(ExperimentJob.kind, { owner, project, experiment: id, id: `${record.id}` }, record);

export const runRefs = Object.values<{ readonly kind: Kind }>(resourceRefs).filter(
  // Safe: all kinds of run have these records and addresses.
  (ref): ref is RunRef => ref.kind.run !== undefined,
);

export const Entity = builder.interfaceRef<Resource>("Entity");
export const Bookmarkable = builder.interfaceRef<Resource>("Bookmarkable");
export const Trackable = builder.interfaceRef<Resource<records.TrackedRecord>>("Trackable");
export const Run = builder.interfaceRef<Resource<records.RunnableRecord>>("Run");
export const Loggable = builder.interfaceRef<Resource>("Loggable");

/** Implements the type of a kind, with the interfaces that follow from the properties of the kind. */
export const resourceType = <R extends object, At extends Address>(
  ref: ResourceRef<R, At>,
  description: string,
  fields: (t: PothosSchemaTypes.ObjectFieldBuilder<PothosTypes, Resource<R, At>>) => FieldMap,
) => {
  const { run, statuses, logs, name } = ref.kind;
  const isBookmarkable = run !== undefined || name === Project.name;
  // Safe: the records of the kind have the keys of these interfaces.
  const interfaces = [
    Entity,
    ...(isBookmarkable ? [Bookmarkable] : []),
    ...(run || statuses ? [Trackable] : []),
    ...(run ? [Run] : []),
    ...(logs ? [Loggable] : []),
  ] as never[];
  builder.objectType(ref, { description, interfaces, fields });
};

export interface ChildOf<Parent extends Resource, Child> {
  readonly parent: Parent;
  readonly record: Child;
}
export const StatusRecord =
  builder.objectRef<ChildOf<Resource<records.TrackedRecord>, records.StatusRecord>>("StatusRecord");
export const MetricRecord =
  builder.objectRef<ChildOf<ExperimentResource, records.MetricRecord>>("MetricRecord");
