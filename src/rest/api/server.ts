import { perSeconds, type RateLimit } from "../../util/sliding-window.ts";
import { type BatchRule, byGroup, byIds } from "./batch-rules.ts";
import {
  type AnyEndpoint,
  CAPABILITIES,
  type Capability,
  notOffered,
  override,
  spellingOf,
} from "./endpoint.ts";
import { listOf, project, type Revision, runKinds, runs, sections } from "./kinds.ts";
import { listQuery, type ListRequest, sortKeys } from "./list-query.ts";
import type { Profile } from "./profile.ts";
import { isObject } from "./record.ts";

/** The gateway's view of a server: the documented endpoints, changed by a profile. */
export type Server = ReturnType<typeof resolveProfile>;

export function resolveProfile(profile: Profile) {
  const overrides = overridesOf(profile);
  const has = (endpoint: AnyEndpoint) => Boolean(overrides.get(endpoint));
  const batches = new Map(batchesOf(profile, has).map((batch) => [batch.endpoint as AnyEndpoint, batch]));
  const omitted: Readonly<Record<string, readonly PropertyKey[]>> = profile.omitted;
  return {
    profile,
    /** The endpoint with this server's method and path; null if the server lacks it. */
    override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) =>
      // Safe: an override changes only method and path, not the types of the endpoint.
      (overrides.get(endpoint) ?? null) as Endpoint | null,
    /** The endpoint with this server's method and path. Throws `GatewayError` if the server lacks it. */
    supported: <Endpoint extends AnyEndpoint>(endpoint: Endpoint): Endpoint => {
      const own = overrides.get(endpoint);
      if (!own) throw notOffered(spellingOf(endpoint), endpoint.capability);
      // Safe: an override changes only method and path.
      return own as Endpoint;
    },
    /** Whether the server never sends a key in records of a kind. */
    omits: (record: string, key: PropertyKey) => omitted[record]?.includes(key) ?? false,
    capabilities: capabilitiesOf(profile, has),
    /** The query parameters of a list of runs. Throws `GatewayError` if the server lacks one, and `InputError` for an invalid filter. */
    listQuery: (request: ListRequest) => listQuery(profile, request),
    sortKeys: (request: Pick<ListRequest, "order" | "metricOrder">) => sortKeys(profile, request),
    /** Creates the body of a command from the given values except undefined. Throws `GatewayError` if the server does not accept one. */
    bodyOf: (command: Exclude<keyof Profile["inputs"], "createBuild">, given: Revision): Revision =>
      Object.entries(given).reduce<Revision>((body, [name, value]) => {
        if (value === undefined) return body;
        const paths: Readonly<Record<string, string | null>> = profile.inputs[command];
        const path = paths[name];
        if (path) return withValue(body, path.split("."), value);
        throw notOffered(`\`${name}\` as input`, inputCapability(command, name));
      }, {}),
    /** This server's rate limit for each endpoint. Endpoints that the server counts together share one object. */
    limits: limitsOf(profile, overrides),
    /** How reads of this endpoint are batched; null if they cannot be. */
    batchOf: (endpoint: AnyEndpoint) => batches.get(endpoint) ?? null,
  };
}

type Has = (endpoint: AnyEndpoint) => boolean;

/** The requirements of some capabilities. Any other capability requires an accepted input, or all endpoints that belong to it. */
const NEEDS: { readonly [Name in Capability]?: (profile: Profile, has: Has) => boolean } = {
  FILTERS: ({ filters }) => filters.language !== null,
  METRIC_ORDERS: ({ metricOrders: { ASC, DESC } }) => ASC !== null && DESC !== null,
  OFFSETS: ({ paging }) => paging.by === "offset",
  // A server that lists projects can provide their records as well.
  PROJECT_RECORDS: (_, has) => has(project.optional.read) || has(project.optional.list),
};

/** The capability that a server has if it accepts an input of a command: `UPDATE_NAME`. */
const inputCapability = (command: string, name: string): string =>
  `${command}_${name}`.replaceAll(/[A-Z]/g, "_$&").toUpperCase();

function capabilitiesOf(profile: Profile, has: Has): Capability[] {
  const hasAll = (name: Capability): boolean => {
    const all = Object.values(sections)
      .flatMap((table) => Object.values(table))
      .filter(({ capability }) => capability === name);
    return all.length > 0 && all.every(has);
  };
  const accepted = new Set(
    Object.entries(profile.inputs).flatMap(([command, paths]) =>
      Object.entries(paths).flatMap(([name, path]) => (path === null ? [] : inputCapability(command, name))),
    ),
  );
  // Safe: these are the keys of the table.
  return (Object.keys(CAPABILITIES) as Capability[]).filter(
    (name) => NEEDS[name]?.(profile, has) ?? (accepted.has(name) || hasAll(name)),
  );
}

/** Maps each endpoint to its version on this server; null if the server lacks the endpoint. */
function overridesOf(profile: Profile): ReadonlyMap<AnyEndpoint, AnyEndpoint | null> {
  return new Map(
    Object.entries(sections).flatMap(([section, table]) =>
      Object.entries(table).map(([name, endpoint]) => {
        const spelling = profile.endpoints[section]?.[name];
        const usual = spelling === null || endpoint.optional ? null : endpoint;
        return [endpoint, spelling ? override(endpoint, spelling) : usual] as const;
      }),
    ),
  );
}

function limitsOf({ rateLimits }: Profile, overrides: ReturnType<typeof overridesOf>) {
  const limits = new Map<AnyEndpoint, RateLimit>();
  for (const { endpoints = [], requests, seconds } of rateLimits) {
    const limit = perSeconds(requests, seconds);
    for (const [section = "", name = ""] of endpoints.map((each) => each.split("."))) {
      const endpoint = sections[section]?.[name];
      const supported = endpoint && overrides.get(endpoint);
      if (supported) limits.set(supported, limit);
    }
  }
  return limits;
}

function batchesOf({ filters: { ids }, paging, omittedInLists }: Profile, has: Has): readonly BatchRule[] {
  const ofRecords = runKinds.flatMap((kind) => {
    const list = listOf(kind);
    if (!ids || !list || !has(list)) return [];
    return [byIds(kind.endpoints.read, list, ids, paging, omittedInLists[kind.records])];
  });
  const { metrics } = runs.group.optional;
  if (!has(metrics)) return ofRecords;
  return [...ofRecords, byGroup(runs.experiment.endpoints.metrics, metrics, paging)];
}

/** Copies the body with a value added at a path. Keeps other values in the objects along the path. */
function withValue(body: Revision, [key = "", ...inner]: readonly string[], value: unknown): Revision {
  if (inner.length === 0) return { ...body, [key]: value };
  const there = body[key];
  return { ...body, [key]: withValue(isObject(there) ? there : {}, inner, value) };
}
