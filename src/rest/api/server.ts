import { UpstreamError } from "../../errors.ts";
import { type Batch, byGroup, byIds, type IdRules, type Query } from "./batches.ts";
import { type AnyEndpoint, override } from "./endpoint.ts";
import { build, endpoints, experiment, group, job, optional } from "./endpoints.ts";
import type { Order, Profile, RunList } from "./profile.ts";

/** The order and filters of a list of runs. */
interface ListRequest {
  readonly order?: Order | null | undefined;
  /** A filter in the server's own language. */
  readonly query?: string | null | undefined;
  /** The id of a group, to list only its experiments. */
  readonly group: string | undefined;
}

/** A server: the documented endpoints with the overrides of a profile. */
export interface Server {
  readonly profile: Profile;
  /** The endpoint with this server's method and path; null when the server lacks it. */
  readonly override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) => Endpoint | null;
  /** Whether the endpoint is optional and this server lacks it. */
  readonly lacks: (endpoint: AnyEndpoint) => boolean;
  readonly capabilities: readonly Capability[];
  /** The query parameters of a list of runs. Throws `UpstreamError` when this server lacks one of them. */
  readonly listQuery: (request: ListRequest) => Query;
  /** How reads of this endpoint are batched; null when they cannot be. */
  readonly batchOf: (endpoint: AnyEndpoint) => Batch | null;
}

/** The optional endpoints that each capability needs. */
const NEEDED = {
  LISTS: ["projects", "experiments", "jobs", "builds", "groups"],
  EXPERIMENT_JOB_LOGS: ["experimentJobLogs"],
  BOOKMARKS: [
    "bookmarkedExperiments",
    "bookmarkedJobs",
    "bookmarkedBuilds",
    "bookmarkedGroups",
    "bookmarkedProjects",
  ],
  ARCHIVES: [
    "archivedExperiments",
    "archivedJobs",
    "archivedBuilds",
    "archivedGroups",
    "archivedProjects",
    "archiveExperiment",
    "archiveJob",
    "archiveBuild",
    "archiveGroup",
    "restoreExperiment",
    "restoreJob",
    "restoreBuild",
    "restoreGroup",
  ],
} as const satisfies Record<string, readonly (keyof typeof optional)[]>;
export type Capability = keyof typeof NEEDED;

// Safe: these are the keys of the table.
const CAPABILITIES = Object.keys(NEEDED) as Capability[];

/** Applies a profile to the documented endpoints. */
export function describeServer(profile: Profile): Server {
  const overrides = overridesOf(profile);
  const has = (name: keyof typeof optional) => Boolean(overrides.get(optional[name]));
  const batches = batchesOf(profile, has);
  return {
    profile,
    // Safe: an override changes only method, path and envelope, not the types of the endpoint.
    override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) =>
      (overrides.get(endpoint) ?? null) as Endpoint | null,
    lacks: (endpoint) => OPTIONAL.has(endpoint) && !overrides.get(endpoint),
    capabilities: CAPABILITIES.filter((capability) => NEEDED[capability].every(has)),
    listQuery: (request) => listQuery(profile, request),
    batchOf: (endpoint) => batches.find((batch) => batch.endpoint === endpoint) ?? null,
  };
}

const OPTIONAL: ReadonlySet<AnyEndpoint> = new Set(Object.values(optional));

/** Maps each endpoint to this server's; null when the server lacks it. */
function overridesOf(profile: Profile): ReadonlyMap<AnyEndpoint, AnyEndpoint | null> {
  const spellings: Readonly<Record<string, Readonly<Record<string, string | null | undefined>> | undefined>> =
    profile.endpoints;
  return new Map(
    Object.entries({ ...endpoints, optional }).flatMap(([section, named]) =>
      Object.entries(named).map(([name, endpoint]: [string, AnyEndpoint]) => {
        const documented = OPTIONAL.has(endpoint) ? null : `${endpoint.method} ${endpoint.path}`;
        const spelling = spellings[section]?.[name];
        const spelled = spelling === undefined ? documented : spelling;
        return [endpoint, spelled === null ? null : inEnvelope(override(endpoint, spelled), profile)];
      }),
    ),
  );
}

/** Replaces the reader of an endpoint that returns pages by one for this server's envelope. */
function inEnvelope(endpoint: AnyEndpoint, { envelope, paging }: Profile): AnyEndpoint {
  const hasLinks = paging.by === "link" || paging.by === "offset";
  const { answer } = endpoint;
  const reader = answer.form === "json" ? answer.inEnvelope?.({ ...envelope, hasLinks }) : undefined;
  // Safe: the type stays the same, a page of the same items.
  return reader ? ({ ...endpoint, answer: reader } as AnyEndpoint) : endpoint;
}

function listQuery({ orders, filters }: Profile, { group: id, order, query }: ListRequest): Query {
  return {
    ...(id !== undefined && { [filters.group ?? lacking("this")]: id }),
    ...(order && (orders[order] ?? lacking(`the order ${order}`))),
    ...(query && { [filters.query ?? lacking("filters of lists")]: query }),
  };
}

function lacking(what: string): never {
  throw notOffered(what);
}

export const notOffered = (what: string) =>
  new UpstreamError(
    "CAPABILITY_UNAVAILABLE",
    `The server behind this gateway does not offer ${what}. \`gateway.capabilities\` tells what there is.`,
  );

const BY_IDS: Readonly<Record<RunList, (rules: IdRules) => Batch>> = {
  experiments: (rules) => byIds(experiment.read, optional.experiments, rules),
  jobs: (rules) => byIds(job.read, optional.jobs, rules),
  builds: (rules) => byIds(build.read, optional.builds, rules),
  groups: (rules) => byIds(group.read, optional.groups, rules),
};

function batchesOf(
  { filters: { ids }, paging, omittedInLists }: Profile,
  has: (name: keyof typeof optional) => boolean,
): readonly Batch[] {
  const lists = (Object.keys(BY_IDS) as RunList[]).filter(has);
  return [
    ...(ids ? lists.map((name) => BY_IDS[name]({ ids, paging, omitted: omittedInLists[name] })) : []),
    ...(has("groupMetrics") ? [byGroup(experiment.metrics, optional.groupMetrics, paging)] : []),
  ];
}
