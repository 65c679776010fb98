import { UpstreamError } from "../../errors.ts";
import { type Batch, byGroup, byIds, type IdRules, type Query } from "./batches.ts";
import { type AnyEndpoint, override } from "./endpoint.ts";
import { build, endpoints, experiment, group, job, optional } from "./endpoints.ts";
import type { Order, Profile, RunList } from "./profile.ts";

/** What is wanted of a list of runs. */
interface ListRequest {
  readonly order?: Order | null | undefined;
  /** A filter in the server's own language. */
  readonly query?: string | null | undefined;
  /** The id of the group whose experiments are wanted. */
  readonly group: string | undefined;
}

/** A server as the gateway addresses it: the document's table with a profile laid over it. */
export interface Server {
  readonly profile: Profile;
  /** The endpoint as this server spells it; null when it does not have it. */
  readonly override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) => Endpoint | null;
  /** Whether the endpoint is optional and this server does not have it. */
  readonly lacks: (endpoint: AnyEndpoint) => boolean;
  readonly hasLists: boolean;
  readonly hasExperimentJobLogs: boolean;
  /** The query parameters of a list of runs. Throws `UpstreamError` when this server has none for what is wanted. */
  readonly listQuery: (wanted: ListRequest) => Query;
  /** How this endpoint can be read many at a time; null when it cannot. */
  readonly batchOf: (endpoint: AnyEndpoint) => Batch | null;
}

/** Lays a profile over the table. */
export function describeServer(profile: Profile): Server {
  const overrides = overridesOf(profile);
  const has = (name: keyof typeof optional) => Boolean(overrides.get(optional[name]));
  const batches = batchesOf(profile, has);
  return {
    profile,
    // An overridden endpoint differs in method, path and envelope only: what it takes and what its answer tells stays.
    override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) =>
      (overrides.get(endpoint) ?? null) as Endpoint | null,
    lacks: (endpoint) => OPTIONAL.has(endpoint) && !overrides.get(endpoint),
    hasLists: has("projects") && has("experiments") && has("jobs") && has("builds") && has("groups"),
    hasExperimentJobLogs: has("experimentJobLogs"),
    listQuery: (wanted) => listQuery(profile, wanted),
    batchOf: (endpoint) => batches.find((batch) => batch.endpoint === endpoint) ?? null,
  };
}

const OPTIONAL: ReadonlySet<AnyEndpoint> = new Set(Object.values(optional));

/** Every endpoint as the server spells it; null where it has none. */
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

/** The endpoint with a reader of this server's pages, if it gives pages. */
function inEnvelope(endpoint: AnyEndpoint, { envelope, paging }: Profile): AnyEndpoint {
  const hasLinks = paging.by === "link" || paging.by === "offset";
  const { answer } = endpoint;
  const reader = answer.form === "json" ? answer.inEnvelope?.({ ...envelope, hasLinks }) : undefined;
  // True because the answer stays the same: a page of the same items.
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
