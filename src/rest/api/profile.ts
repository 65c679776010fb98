import { type Batch, byIds, ofGroup } from "./batches.ts";
import { type Command, type Get, override } from "./endpoint.ts";
import { build, endpoints, experiment, group, job, optional } from "./endpoints.ts";
import { GROUP_COUNTERS } from "./records.ts";

export type AnyEndpoint = Get<never, unknown> | Command<never, unknown, never>;

/** What a particular server does differently from the document. Adding a server is adding a profile, nothing else. */
interface Profile {
  /** Endpoints by their names in the table: spelled differently, or null when the server does not have them. */
  readonly endpoints: Readonly<Record<string, string | null>>;
  /** Endpoints that it has although the document does not show them. */
  readonly optional: readonly (keyof typeof optional)[];
  /** Whether lists take `limit` and `offset`. Without, page links are all there is. */
  readonly paging: boolean;
  /** Reads that can be answered many at a time. */
  readonly batches: readonly Batch[];
}

const LISTS = ["projects", "experiments", "jobs", "builds", "groups"] as const;

/** True of all known servers, whatever their document says. */
const KNOWN_SERVERS = {
  "administration.revoke": "POST superusers/revoke/{username}/",
  "job.resume": null,
  "job.copy": null,
};

/** Keys that the items of a list omit, by kind. What is not named is taken for there. */
const OMITTED_IN_LISTS = {
  experiments: ["config", "resources", "num_jobs", "is_clone", "has_tensorboard"],
  jobs: ["config", "is_clone", "resources", "node_scheduled"],
  builds: ["config", "resources", "node_scheduled", "num_jobs", "num_experiments", "dockerfile", "commit"],
  groups: ["content", "hptuning", "current_iteration", "has_tensorboard", ...GROUP_COUNTERS],
};

const PROFILES = {
  /** Only what the service's document shows. */
  document: { endpoints: {}, optional: [], paging: false, batches: [] },
  "polyaxon-0.2": { endpoints: KNOWN_SERVERS, optional: LISTS, paging: true, batches: [] },
  "polyaxon-0.4": {
    endpoints: {
      ...KNOWN_SERVERS,
      "experiment.outputs": "GET {owner}/{project}/experiments/{id}/outputs/download",
      "job.outputs": "GET {owner}/{project}/jobs/{id}/outputs/download",
    },
    optional: [...LISTS, "groupMetrics", "experimentJobLogs"],
    paging: true,
    batches: [
      byIds(experiment.read, optional.experiments, OMITTED_IN_LISTS.experiments),
      byIds(job.read, optional.jobs, OMITTED_IN_LISTS.jobs),
      byIds(build.read, optional.builds, OMITTED_IN_LISTS.builds),
      byIds(group.read, optional.groups, OMITTED_IN_LISTS.groups),
      ofGroup(experiment.metrics, optional.groupMetrics),
    ],
  },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;
export const PROFILE_NAMES = Object.keys(PROFILES) as [ProfileName, ...ProfileName[]];

/** A server as the gateway addresses it: the document's table with a profile laid over it. */
export interface Server {
  /** The endpoint as this server spells it; null when it does not have it. */
  readonly override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) => Endpoint | null;
  /** Whether the endpoint is optional and this server does not have it. */
  readonly lacks: (endpoint: AnyEndpoint) => boolean;
  readonly hasLists: boolean;
  readonly hasExperimentJobLogs: boolean;
  readonly paging: boolean;
  /** How this endpoint can be read many at a time; null when it cannot. */
  readonly batchOf: (endpoint: AnyEndpoint) => Batch | null;
}

/** The table's endpoints by name: `experiment.read`, `administration.revoke`. */
export const ENDPOINTS_BY_NAME: ReadonlyMap<string, AnyEndpoint> = new Map(
  Object.entries(endpoints).flatMap(([section, named]) =>
    Object.entries(named).map(([name, endpoint]): [string, AnyEndpoint] => [
      `${section}.${name}`,
      endpoint as AnyEndpoint,
    ]),
  ),
);

/** Lays a profile over the table, and over both the endpoints that a setting names. */
export function describeServer(
  profileName: ProfileName,
  overrides: Readonly<Record<string, string | null>> = {},
): Server {
  const profile: Profile = PROFILES[profileName];
  const overridden = new Map<AnyEndpoint, AnyEndpoint | null>();
  for (const [name, spelling] of Object.entries({ ...profile.endpoints, ...overrides })) {
    const endpoint = ENDPOINTS_BY_NAME.get(name);
    if (!endpoint) throw new TypeError(`no endpoint is called ${name}`);
    overridden.set(endpoint, spelling === null ? null : override(endpoint, spelling));
  }
  const offered = new Set<AnyEndpoint>(profile.optional.map((each) => optional[each]));
  const notDocumented = new Set<AnyEndpoint>(Object.values(optional));
  return {
    // An overridden endpoint differs in method and path only: its answer, its parameters and its body stay.
    override: <Endpoint extends AnyEndpoint>(endpoint: Endpoint) =>
      overridden.has(endpoint) ? (overridden.get(endpoint) as Endpoint | null) : endpoint,
    lacks: (endpoint) => notDocumented.has(endpoint) && !offered.has(endpoint),
    hasLists: LISTS.every((each) => offered.has(optional[each])),
    hasExperimentJobLogs: offered.has(optional.experimentJobLogs),
    paging: profile.paging,
    batchOf: (endpoint) => profile.batches.find((batch) => batch.endpoint === endpoint) ?? null,
  };
}
