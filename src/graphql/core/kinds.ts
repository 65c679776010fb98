import type { Get } from "../../rest/api/endpoint.ts";
import { build, cluster, experiment, group, job, optional, user } from "../../rest/api/endpoints.ts";
import { UpstreamError } from "../../errors.ts";
import type {
  BuildRecord,
  ClusterRecord,
  ExperimentJobRecord,
  ExperimentRecord,
  GroupRecord,
  JobRecord,
  NodeRecord,
  RunnableRecord,
  UserRecord,
} from "../../rest/api/records.ts";
import {
  BUILD,
  EXPERIMENT,
  type ExperimentJobAddress,
  GROUP,
  JOB,
  parseExperimentJob,
  parseReference,
  type RunAddress,
  type Spelling,
} from "../../rest/api/reference.ts";
import type { Session } from "../../rest/session/session.ts";
import type { Address, Kind } from "./resource.ts";

/*
 * What shared code must know of each kind: one row a kind, no `if (kind === …)` anywhere else.
 */

const NO_ROWS = { isRun: false, statuses: null, logs: null, outputs: null };

interface RunRows<R> extends Pick<Kind<object, RunAddress>, "statuses"> {
  readonly read: Get<RunAddress, R>;
  readonly logs?: Get<RunAddress, undefined>;
  readonly outputs?: Get<RunAddress, undefined>;
}

const run = <R extends RunnableRecord>(
  words: Pick<Kind, "name" | "example"> & { readonly lookUp: string },
  spelling: Spelling,
  rows: RunRows<R>,
): Kind<R, RunAddress> => {
  const { infix, inGroup } = spelling;
  const dotted = ({ owner, project, id }: RunAddress) =>
    [owner, project, ...(infix ? [infix] : []), id].join(".");
  return {
    ...words,
    isRun: true,
    canBeRead: true,
    segments: ["owner", "project", "id"],
    parse: (text) => parseReference(text, spelling),
    known: (at, reference) => {
      // Where a group's number may be part of the name, the address does not tell it.
      const told = reference ?? (inGroup ? null : dotted(at));
      // True for every R: they all have the keys of a runnable record.
      return (told === null ? {} : { unique_name: told }) as Partial<R>;
    },
    nameOf: dotted,
    // A row of a list that lacks a key will lack it again: only the whole record helps then.
    complete: ({ at, arrived }, keys, session) =>
      session.read(rows.read, at, "id" in arrived ? {} : { part: { at, keys } }),
    statuses: rows.statuses,
    logs: rows.logs ?? null,
    outputs: rows.outputs ?? null,
  };
};

const experimentJob: Kind<ExperimentJobRecord, ExperimentJobAddress> = {
  ...NO_ROWS,
  name: "ExperimentJob",
  lookUp: "experimentJob",
  example: "ada.mnist.42.7.master",
  canBeRead: true,
  segments: ["owner", "project", "experiment", "id"],
  parse: parseExperimentJob,
  known: (_, reference) => (reference === null ? {} : { unique_name: reference }),
  nameOf: ({ owner, project, experiment: of, id }) => `${owner}.${project}.${of}.${id}`,
  complete: ({ at }, _, session) => session.read(experiment.job, at),
  statuses: experiment.jobStatuses,
  logs: optional.experimentJobLogs,
};

/** Spelled as a type, not an interface: only so it counts as an `Address`. */
export type ProjectAddress = Pick<RunAddress, "owner" | "project">;

const project: Kind<object, ProjectAddress> = {
  ...NO_ROWS,
  name: "Project",
  lookUp: null,
  example: "ada.mnist",
  canBeRead: false,
  segments: ["owner", "project"],
  parse: (text) => {
    const [owner, name, ...rest] = text.split(".");
    return owner && name && rest.length === 0 ? { owner, project: name } : null;
  },
  known: () => ({}),
  nameOf: ({ owner, project: name }) => `${owner}.${name}`,
  complete: () => Promise.resolve({}),
};

export interface UserDetails extends UserRecord {
  readonly is_viewer: boolean;
}

/** The service tells details of the caller only. Rejects when nobody is signed in: some servers answer 200 then. */
export async function readViewer(session: Session): Promise<UserDetails & { readonly username: string }> {
  const me = await session.read(user.me, {});
  if (!me.username) throw new UpstreamError("UNAUTHENTICATED", "The service says that nobody is signed in.");
  return { ...me, username: me.username, is_viewer: true };
}

/** A type, not an interface: only so it counts as an `Address`. */
export type ByName = { readonly username: string };

const person: Kind<UserDetails, ByName> = {
  ...NO_ROWS,
  name: "User",
  lookUp: null,
  example: "ada",
  canBeRead: false,
  segments: ["username"],
  parse: (username) => ({ username }),
  known: ({ username }) => ({ username }),
  nameOf: ({ username }) => username,
  complete: async ({ at }, _, session) => {
    const viewer = await readViewer(session);
    return viewer.username === at.username ? viewer : { email: null, is_superuser: null, is_viewer: false };
  },
};

/**
 * The service addresses a machine by its sequence number but refers to it by name, so a machine takes two steps:
 * its summary in the cluster document, then its details.
 */
const node: Kind<NodeRecord, { readonly name: string }> = {
  ...NO_ROWS,
  name: "Node",
  lookUp: null,
  example: "node-1",
  canBeRead: true,
  segments: ["name"],
  parse: (name) => ({ name }),
  known: ({ name }) => ({ name }),
  nameOf: ({ name }) => name,
  complete: async ({ at, arrived }, _, session) => {
    if (arrived.sequence != null) return session.read(cluster.node, { sequence: String(arrived.sequence) });
    const { nodes } = await session.read(cluster.read, {});
    const summary = nodes?.find(({ name }) => name === at.name);
    if (summary) return summary;
    throw new UpstreamError("NOT_FOUND", "The cluster lists no machine of this name.");
  },
};

const wholeCluster: Kind<ClusterRecord, Record<never, string>> = {
  ...NO_ROWS,
  name: "Cluster",
  lookUp: null,
  example: null,
  canBeRead: true,
  segments: [],
  parse: () => null,
  known: () => ({}),
  nameOf: () => "cluster",
  complete: (_, _keys, session) => session.read(cluster.read, {}),
};

export const kinds = {
  experiment: run<ExperimentRecord>(
    { name: "Experiment", lookUp: "experiment", example: "ada.mnist.42" },
    EXPERIMENT,
    experiment,
  ),
  experimentJob,
  job: run<JobRecord>({ name: "Job", lookUp: "job", example: "ada.mnist.jobs.3" }, JOB, job),
  buildJob: run<BuildRecord>(
    { name: "BuildJob", lookUp: "buildJob", example: "ada.mnist.builds.9" },
    BUILD,
    build,
  ),
  group: run<GroupRecord>({ name: "Group", lookUp: "group", example: "ada.mnist.5" }, GROUP, group),
  project,
  user: person,
  node,
  cluster: wholeCluster,
};

/** Every kind by the name it has in global ids. */
export const kindsByName: ReadonlyMap<string, Kind<object, Address>> = new Map(
  Object.values(kinds).map((kind): [string, Kind<object, Address>] => [kind.name, kind]),
);
