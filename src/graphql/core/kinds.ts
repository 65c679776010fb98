import { GatewayError, isGatewayError } from "../../errors.ts";
import type * as records from "../../rest/api/records.ts";
import type { BatchRule } from "../../rest/api/batch-rules.ts";
import type { Get } from "../../rest/api/endpoint.ts";
import { cluster, experimentJob, project, type RunKind, runs, user } from "../../rest/api/kinds.ts";
import {
  type ExperimentJobAddress,
  formatExperimentJob,
  formatReference,
  MAX_REFERENCE_LENGTH,
  parseExperimentJob,
  parseReference,
  type RunAddress,
} from "../../rest/api/reference.ts";
import { PageIterator } from "../../rest/session/pagination.ts";
import { START } from "../../rest/session/list-position.ts";
import type { Session } from "../../rest/session/session.ts";
import { NO_ORDER } from "../../rest/session/ties.ts";
import { readStep } from "../../rest/session/page-reader.ts";
import type { Kind } from "./resource.ts";

/*
 * The table of all kinds. Code for several kinds uses the properties in this table instead of comparing names. The kinds of run are created
 * from their rows in `rest/api/kinds.ts`.
 */

const isCrash = (error: unknown): boolean =>
  isGatewayError(error, "UPSTREAM_ERROR") && error.details.upstream?.status === 500;

/**
 * Reads the list item of a run whose record the server cannot return: release 0.4 crashes on an experiment whose latest metric is the
 * string "NaN". Throws `error`, the error of the record, if there is no list item.
 */
async function rowInstead<R extends records.RunnableRecord>(
  batch: BatchRule,
  at: RunAddress,
  session: Session,
  error: unknown,
): Promise<R> {
  const list = batch.list([{ at }]);
  const answer = await session.read(list.endpoint, list.at, { query: list.query }).catch(() => null);
  const row = answer && list.find(answer)({ at });
  if (!row) throw error;
  // Safe: the list of a batch has the records that the batch replaces.
  return row as R;
}

const toKind = <R extends records.RunnableRecord>(run: RunKind<R>): Kind<R, RunAddress> => {
  const { name, reference, example, endpoints, optional } = run;
  const dotted = (address: RunAddress) => formatReference(address, reference);
  return {
    name,
    record: run.records,
    exampleName: dotted({ owner: "ada", project: "mnist", id: example }),
    nameField: "uniqueName",
    run,
    verifiedBy: "parts",
    parameters: ["owner", "project", "id"],
    parseName: (text) => parseReference(text, reference),
    formatName: dotted,
    formatReference: (address) =>
      formatReference(address, { infix: reference.infix ?? reference.alias ?? null }),
    fromAddress: (address, given) => {
      // The name of a run in a group contains the number of the group, which the address lacks.
      const uniqueName = given ?? (reference.inGroup ? null : dotted(address));
      // Safe: every R extends `RunnableRecord`.
      return (uniqueName === null ? {} : { unique_name: uniqueName }) as Partial<R>;
    },
    // A loaded `id` means that a list item lacks one of the keys. Only a request for the whole record returns such a key.
    fetch: ({ address, loaded }, keys, session) => {
      if ("id" in loaded) return session.read(endpoints.read, address);
      const record = session.read(endpoints.read, address, { part: { at: address, keys } });
      const batch = session.server.batchOf(endpoints.read);
      if (!batch) return record;
      return record.catch((error: unknown) => {
        if (!isCrash(error)) throw error;
        return rowInstead<R>(batch, address, session, error);
      });
    },
    statuses: endpoints.statuses,
    logs: endpoints.logs,
    outputs: endpoints.outputs,
    outputFolder: optional?.outputFolder,
    files: optional?.outputFile,
  };
};

const ExperimentJob: Kind<records.ExperimentJobRecord, ExperimentJobAddress> = {
  name: "ExperimentJob",
  record: experimentJob.records,
  nameField: "uniqueName",
  exampleName: "ada.mnist.42.7.master",
  verifiedBy: "parts",
  parameters: ["owner", "project", "experiment", "id"],
  parseName: parseExperimentJob,
  fromAddress: (_, reference) => (reference === null ? {} : { unique_name: reference }),
  formatName: ({ owner, project: name, experiment, id }) => `${owner}.${name}.${experiment}.${id}`,
  formatReference: formatExperimentJob,
  fetch: ({ address }, _, session) => session.read(runs.experiment.endpoints.job, address),
  statuses: runs.experiment.endpoints.jobStatuses,
  logs: experimentJob.optional.logs,
};

/** Not an interface, because an interface is not assignable to `Address`. */
export type ProjectAddress = Pick<RunAddress, "owner" | "project">;

const Project: Kind<records.ProjectRecord, ProjectAddress> = {
  name: "Project",
  record: project.records,
  nameField: "uniqueName",
  exampleName: "ada.mnist",
  verifiedBy: null,
  parameters: ["owner", "project"],
  parseName: (text) => {
    if (text.length > MAX_REFERENCE_LENGTH) return null;
    const [owner, name, ...rest] = text.split(".");
    return owner && name && rest.length === 0 ? { owner, project: name } : null;
  },
  fromAddress: () => ({}),
  formatName: ({ owner, project: name }) => `${owner}.${name}`,
  formatReference: (address) => Project.formatName(address),
  fetch: async ({ address, loaded }, keys, session) => {
    const { read, list } = project.optional;
    if (!session.server.override(read) && session.server.override(list))
      return readListed(address, loaded, keys, session);
    const record = await session.read(read, address);
    if (record.name == null || record.name === address.project) return record;
    const [requested, own] = [address, { ...address, project: record.name }].map(Project.formatName);
    throw new GatewayError("NOT_FOUND", `Not found: ${requested}. There is ${own}.`);
  },
};

/** The list whose length is the value of each counter of a project. */
const COUNTED = {
  num_experiments: runs.experiment.optional.list,
  num_experiment_groups: runs.group.optional.list,
  num_jobs: runs.job.optional.list,
  num_builds: runs.build.optional.list,
};

/** Number of projects per request. Few owners have more. */
const PROJECTS = 500;

/**
 * Reads a project on a server that returns projects only in the list of their owner. These list items have no counters, so the counters are
 * read from other lists.
 */
async function readListed(
  at: ProjectAddress,
  loaded: Partial<records.ProjectRecord>,
  keys: readonly PropertyKey[],
  session: Session,
): Promise<Partial<records.ProjectRecord>> {
  const counted = Object.entries(COUNTED).filter(([key]) => keys.includes(key));
  const isCounted = keys.length > 0 && keys.length === counted.length;
  const [row, ...counts] = await Promise.all([
    "name" in loaded || isCounted ? {} : findListed(at, session),
    ...counted.map(async ([key, endpoint]) => {
      const { page } = await readStep(session, { endpoint, address: at, sortedBy: NO_ORDER }, START, 1);
      return [key, page.count ?? null] as const;
    }),
  ]);
  return { ...row, ...Object.fromEntries(counts) };
}

async function findListed(
  { owner, project: name }: ProjectAddress,
  session: Session,
): Promise<records.ProjectRecord> {
  const endpoint = project.optional.list;
  const list = { endpoint, address: { owner }, sortedBy: ["updated_at"] as const };
  const pages = new PageIterator(list, START, PROJECTS);
  do {
    const { rest } = await pages.next(session, PROJECTS);
    const found = rest.find((row) => row.name === name);
    if (found) return found;
  } while (!pages.isDone());
  const upstream = { method: "GET", route: endpoint.path };
  throw new GatewayError("NOT_FOUND", `Not found: ${owner}.${name}.`, { upstream });
}

export interface UserDetails extends records.UserRecord {
  readonly is_viewer: boolean;
}

/**
 * Reads the caller's own details. Rejects with `UNAUTHENTICATED` if the response has no user name: some servers respond so, with 200, to a
 * token without a user.
 */
export async function readViewer(session: Session): Promise<UserDetails & { readonly username: string }> {
  const me = await session.read(user.me, {});
  session.learnViewer(me.username || null);
  if (!me.username) throw new GatewayError("UNAUTHENTICATED", "The service says that nobody is signed in.");
  return { ...me, username: me.username, is_viewer: true };
}

/** Not an interface, because an interface is not assignable to `Address`. */
export type UserAddress = { readonly username: string };

const User: Kind<UserDetails, UserAddress> = {
  name: "User",
  nameField: "username",
  exampleName: "ada",
  verifiedBy: null,
  parameters: ["username"],
  parseName: (username) => ({ username }),
  fromAddress: ({ username }) => ({ username }),
  formatName: ({ username }) => username,
  formatReference: ({ username }) => username,
  fetch: async ({ address }, _, session) => {
    const details = await readViewer(session);
    return details.username === address.username
      ? details
      : { email: null, is_superuser: null, is_viewer: false };
  },
};

/** The kind of the caller's own user. Its name may come from a cache, so a read verifies that the token still belongs to this user. */
export const viewer: typeof User = {
  ...User,
  verifiedBy: "record",
  fetch: async ({ address }, _, session) => {
    const details = await readViewer(session);
    if (details.username === address.username) return details;
    throw new GatewayError(
      "UNAUTHENTICATED",
      "The token now belongs to another user. Send the operation again.",
    );
  },
};

const summaries = new WeakMap<readonly records.NodeRecord[], ReadonlyMap<string, records.NodeRecord>>();

/**
 * Returns the machines of a cluster by name. The map is created once per response. Of machines with the same name, the first one counts.
 */
function summariesIn(nodes: readonly records.NodeRecord[]): ReadonlyMap<string, records.NodeRecord> {
  const known = summaries.get(nodes) ?? new Map(nodes.toReversed().map((node) => [node.name, node]));
  summaries.set(nodes, known);
  return known;
}

/**
 * Upstream records refer to machines by name, but the endpoint of a machine takes its sequence number. So the first fetch reads the summary
 * in the cluster, which has the number, and the second fetch reads the details.
 */
const Node: Kind<records.NodeRecord, { readonly name: string }> = {
  name: "Node",
  nameField: "name",
  exampleName: "node-1",
  verifiedBy: "parts",
  parameters: ["name"],
  parseName: (name) => ({ name }),
  fromAddress: ({ name }) => ({ name }),
  formatName: ({ name }) => name,
  formatReference: ({ name }) => name,
  fetch: async ({ address, loaded }, _, session) => {
    if (loaded.sequence != null) return session.read(cluster.node, { sequence: String(loaded.sequence) });
    const { nodes } = await session.read(cluster.read, {});
    const summary = nodes && summariesIn(nodes).get(address.name);
    if (summary) return summary;
    throw new GatewayError("NOT_FOUND", "The cluster lists no machine with this name.");
  },
};

const Cluster: Kind<records.ClusterRecord, Record<never, string>> = {
  name: "Cluster",
  nameField: null,
  exampleName: null,
  verifiedBy: "parts",
  parameters: [],
  parseName: () => null,
  fromAddress: () => ({}),
  formatName: () => "cluster",
  formatReference: () => "cluster",
  fetch: (_, _keys, session) => session.read(cluster.read, {}),
};

type Runs = typeof runs;
type RecordOf<Run> = Run extends { readonly endpoints: { readonly read: Get<RunAddress, infer R> } }
  ? R
  : never;

// Safe: each kind is created from the row with its name.
const runKinds = Object.fromEntries(Object.values<RunKind>(runs).map((run) => [run.name, toKind(run)])) as {
  readonly [Each in keyof Runs as Runs[Each]["name"]]: Kind<RecordOf<Runs[Each]>, RunAddress>;
};

/** All kinds, by their names in global ids. */
export const kinds = { ...runKinds, ExperimentJob, Project, User, Node, Cluster };

export const kindsByName: ReadonlyMap<string, Kind> = new Map(Object.entries<Kind>(kinds));

/** The plural of the name of a type. */
export const plural = (name: string) => (name.endsWith("y") ? `${name.slice(0, -1)}ies` : `${name}s`);
