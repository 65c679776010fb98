import type { Get } from "../../rest/api/endpoint.ts";
import { build, cluster, experiment, group, job, optional, user } from "../../rest/api/endpoints.ts";
import { UpstreamError } from "../../errors.ts";
import type { ProjectRecord } from "../../rest/api/optional-records.ts";
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
 * The table of all kinds. Shared code reads the row of a kind and never branches on the kind itself.
 */

const NOT_A_RUN = { isRun: false, record: null, statuses: null, logs: null, outputs: null };

interface RunEndpoints<R> extends Pick<Kind<object, RunAddress>, "statuses"> {
  readonly read: Get<RunAddress, R>;
  readonly logs?: Get<RunAddress, undefined>;
  readonly outputs?: Get<RunAddress, undefined>;
}

const run = <R extends RunnableRecord>(
  names: Pick<Kind, "name" | "record" | "rootField" | "exampleName">,
  spelling: Spelling,
  endpoints: RunEndpoints<R>,
): Kind<R, RunAddress> => {
  const { infix, inGroup } = spelling;
  const middle = infix ? `.${infix}.` : ".";
  const dotted = ({ owner, project, id }: RunAddress) => `${owner}.${project}${middle}${id}`;
  return {
    ...names,
    nameField: "uniqueName",
    isRun: true,
    isReadable: true,
    parameters: ["owner", "project", "id"],
    parseName: (text) => parseReference(text, spelling),
    formatName: dotted,
    fromAddress: (address, reference) => {
      // The name may contain a group's number, which is not in the address.
      const name = reference ?? (inGroup ? null : dotted(address));
      // Safe: every R extends `RunnableRecord`.
      return (name === null ? {} : { unique_name: name }) as Partial<R>;
    },
    // With `id` loaded the record is a list item that lacks a key, so the whole record is read.
    fetch: ({ address, loaded }, keys, session) =>
      session.read(endpoints.read, address, "id" in loaded ? {} : { part: { at: address, keys } }),
    statuses: endpoints.statuses,
    logs: endpoints.logs ?? null,
    outputs: endpoints.outputs ?? null,
  };
};

const experimentJob: Kind<ExperimentJobRecord, ExperimentJobAddress> = {
  ...NOT_A_RUN,
  name: "ExperimentJob",
  record: "experimentJobs",
  nameField: "uniqueName",
  rootField: "experimentJob",
  exampleName: "ada.mnist.42.7.master",
  isReadable: true,
  parameters: ["owner", "project", "experiment", "id"],
  parseName: parseExperimentJob,
  fromAddress: (_, reference) => (reference === null ? {} : { unique_name: reference }),
  formatName: ({ owner, project, experiment: of, id }) => `${owner}.${project}.${of}.${id}`,
  fetch: ({ address }, _, session) => session.read(experiment.job, address),
  statuses: experiment.jobStatuses,
  logs: optional.experimentJobLogs,
};

/** A type alias, because an interface is not assignable to `Address`. */
export type ProjectAddress = Pick<RunAddress, "owner" | "project">;

const project: Kind<ProjectRecord, ProjectAddress> = {
  ...NOT_A_RUN,
  name: "Project",
  record: "projects",
  nameField: "uniqueName",
  rootField: null,
  exampleName: "ada.mnist",
  isReadable: false,
  parameters: ["owner", "project"],
  parseName: (text) => {
    const [owner, name, ...rest] = text.split(".");
    return owner && name && rest.length === 0 ? { owner, project: name } : null;
  },
  fromAddress: () => ({}),
  formatName: ({ owner, project: name }) => `${owner}.${name}`,
  fetch: ({ address }, _, session) => session.read(optional.project, address),
};

export interface UserDetails extends UserRecord {
  readonly is_viewer: boolean;
}

/** Reads the caller's own details. Rejects when nobody is signed in, for which some servers respond with 200. */
export async function readViewer(session: Session): Promise<UserDetails & { readonly username: string }> {
  const me = await session.read(user.me, {});
  if (!me.username) throw new UpstreamError("UNAUTHENTICATED", "The service says that nobody is signed in.");
  return { ...me, username: me.username, is_viewer: true };
}

/** A type alias, because an interface is not assignable to `Address`. */
export type UserAddress = { readonly username: string };

const person: Kind<UserDetails, UserAddress> = {
  ...NOT_A_RUN,
  name: "User",
  nameField: "username",
  rootField: null,
  exampleName: "ada",
  isReadable: false,
  parameters: ["username"],
  parseName: (username) => ({ username }),
  fromAddress: ({ username }) => ({ username }),
  formatName: ({ username }) => username,
  fetch: async ({ address }, _, session) => {
    const viewer = await readViewer(session);
    return viewer.username === address.username
      ? viewer
      : { email: null, is_superuser: null, is_viewer: false };
  },
};

/**
 * The service addresses a machine by sequence number but refers to it by name, so the record is fetched in two steps: its
 * summary from the cluster, then its details.
 */
const node: Kind<NodeRecord, { readonly name: string }> = {
  ...NOT_A_RUN,
  name: "Node",
  nameField: "name",
  rootField: null,
  exampleName: "node-1",
  isReadable: true,
  parameters: ["name"],
  parseName: (name) => ({ name }),
  fromAddress: ({ name }) => ({ name }),
  formatName: ({ name }) => name,
  fetch: async ({ address, loaded }, _, session) => {
    if (loaded.sequence != null) return session.read(cluster.node, { sequence: String(loaded.sequence) });
    const { nodes } = await session.read(cluster.read, {});
    const summary = nodes?.find(({ name }) => name === address.name);
    if (summary) return summary;
    throw new UpstreamError("NOT_FOUND", "The cluster lists no machine of this name.");
  },
};

const wholeCluster: Kind<ClusterRecord, Record<never, string>> = {
  ...NOT_A_RUN,
  name: "Cluster",
  nameField: null,
  rootField: null,
  exampleName: null,
  isReadable: true,
  parameters: [],
  parseName: () => null,
  fromAddress: () => ({}),
  formatName: () => "cluster",
  fetch: (_, _keys, session) => session.read(cluster.read, {}),
};

export const kinds = {
  experiment: run<ExperimentRecord>(
    { name: "Experiment", record: "experiments", rootField: "experiment", exampleName: "ada.mnist.42" },
    EXPERIMENT,
    experiment,
  ),
  experimentJob,
  job: run<JobRecord>(
    { name: "Job", record: "jobs", rootField: "job", exampleName: "ada.mnist.jobs.3" },
    JOB,
    job,
  ),
  buildJob: run<BuildRecord>(
    { name: "BuildJob", record: "builds", rootField: "buildJob", exampleName: "ada.mnist.builds.9" },
    BUILD,
    build,
  ),
  group: run<GroupRecord>(
    { name: "Group", record: "groups", rootField: "group", exampleName: "ada.mnist.5" },
    GROUP,
    group,
  ),
  project,
  user: person,
  node,
  cluster: wholeCluster,
};

/** Kinds by their name in global ids. */
export const kindsByName: ReadonlyMap<string, Kind<object, Address>> = new Map(
  Object.values(kinds).map((kind): [string, Kind<object, Address>] => [kind.name, kind]),
);
