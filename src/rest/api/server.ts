import { type Batch, byGroup, byIds, type IdRules, type Query } from "./batches.ts";
import { type AnyEndpoint, override } from "./endpoint.ts";
import { build, endpoints, experiment, group, job, optional } from "./endpoints.ts";
import { type ListRequest, listQuery } from "./list-query.ts";
import type { Profile, RecordName, RunList } from "./profile.ts";
import { hasOffsets } from "./profile-lists.ts";

/** A server: the documented endpoints with the overrides of a profile. */
export interface Server {
  readonly profile: Profile;
  /** The endpoint with this server's method and path; null when the server lacks it. */
  readonly override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) => Endpoint | null;
  /** Whether the endpoint is optional and this server lacks it. */
  readonly lacks: (endpoint: AnyEndpoint) => boolean;
  /** Whether no record of a kind has this key. */
  readonly omits: (record: RecordName, key: PropertyKey) => boolean;
  readonly capabilities: readonly Capability[];
  /**
   * The query parameters of a list of runs. Throws `UpstreamError` when this server lacks one of them, and `InputError` when a
   * filter is too long or contains what cannot be said to this server.
   */
  readonly listQuery: (request: ListRequest) => Query;
  /** How reads of this endpoint are batched; null when they cannot be. */
  readonly batchOf: (endpoint: AnyEndpoint) => Batch | null;
}

/** Applies a profile to the documented endpoints. */
export function describeServer(profile: Profile): Server {
  const overrides = overridesOf(profile);
  const has: HasOptional = (name) => Boolean(overrides.get(optional[name]));
  const batches = batchesOf(profile, has);
  const omitted: Readonly<Record<RecordName, readonly PropertyKey[]>> = profile.omitted;
  return {
    profile,
    // Safe: an override changes only method, path and envelope, not the types of the endpoint.
    override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) =>
      (overrides.get(endpoint) ?? null) as Endpoint | null,
    lacks: (endpoint) => OPTIONAL.has(endpoint) && !overrides.get(endpoint),
    omits: (record, key) => omitted[record].includes(key),
    capabilities: capabilitiesOf(profile, has),
    listQuery: (request) => listQuery(profile, request),
    batchOf: (endpoint) => batches.find((batch) => batch.endpoint === endpoint) ?? null,
  };
}

type HasOptional = (name: keyof typeof optional) => boolean;

const LISTS = ["projects", "experiments", "jobs", "builds", "groups"] as const;
const BOOKMARKS = [
  "bookmarkedExperiments",
  "bookmarkedJobs",
  "bookmarkedBuilds",
  "bookmarkedGroups",
  "bookmarkedProjects",
] as const;
const ARCHIVES = [
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
] as const;

/** What each capability needs. */
const CAPABILITIES = {
  LISTS: (has) => LISTS.every(has),
  EXPERIMENT_JOB_LOGS: (has) => has("experimentJobLogs"),
  BOOKMARKS: (has) => BOOKMARKS.every(has),
  ARCHIVES: (has) => ARCHIVES.every(has),
  FILTERS: (_, { filters }) => filters.language !== null,
  METRIC_ORDERS: (_, { metricOrders: { ASC, DESC } }) => ASC !== null && DESC !== null,
  OFFSETS: (_, { paging }) => hasOffsets(paging),
  PROJECT_RECORDS: (has) => has("project"),
  CODE_REFERENCES: (has) => has("codeReference"),
  UPDATE_NAME: (_, { inputs }) => inputs.update.name !== null,
  UPDATE_TAGS: (_, { inputs }) => inputs.update.tags !== null,
  UPDATE_README: (_, { inputs }) => inputs.update.readme !== null,
  RESTART_DESCRIPTION: (_, { inputs }) => inputs.restart.description !== null,
  RESTART_DECLARATIONS: (_, { inputs }) => inputs.restart.declarations !== null,
  RESTART_UPDATE_CODE: (_, { inputs }) => inputs.restart.updateCode !== null,
} satisfies Record<string, (has: HasOptional, profile: Profile) => boolean>;
export type Capability = keyof typeof CAPABILITIES;

const capabilitiesOf = (profile: Profile, has: HasOptional): Capability[] =>
  // Safe: these are the keys of the table.
  (Object.keys(CAPABILITIES) as Capability[]).filter((name) => CAPABILITIES[name](has, profile));

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

const BY_IDS: Readonly<Record<RunList, (rules: IdRules) => Batch>> = {
  experiments: (rules) => byIds(experiment.read, optional.experiments, rules),
  jobs: (rules) => byIds(job.read, optional.jobs, rules),
  builds: (rules) => byIds(build.read, optional.builds, rules),
  groups: (rules) => byIds(group.read, optional.groups, rules),
};

function batchesOf(
  { filters: { ids }, paging, omittedInLists }: Profile,
  has: HasOptional,
): readonly Batch[] {
  const lists = (Object.keys(BY_IDS) as RunList[]).filter(has);
  return [
    ...(ids ? lists.map((name) => BY_IDS[name]({ ids, paging, omitted: omittedInLists[name] })) : []),
    ...(has("groupMetrics") ? [byGroup(experiment.metrics, optional.groupMetrics, paging)] : []),
  ];
}
