import { type Batch, byIds, ofGroup } from "./batches.ts";
import { type Command, type Get, respell } from "./endpoint.ts";
import { build, endpoints, experiment, group, job } from "./endpoints.ts";
import { lists } from "./lists.ts";
import { GROUP_COUNTERS } from "./records.ts";

export type AnyRow = Get<never, unknown> | Command<never, unknown, never>;

/** What a particular server does differently from the document. Adding a server is adding a profile, nothing else. */
interface Profile {
  /** Rows by their names in the table: spelled differently, or null when the server does not have them. */
  readonly rows: Readonly<Record<string, string | null>>;
  /** Rows that it has beyond the document. */
  readonly beyond: readonly (keyof typeof lists)[];
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

/** Keys that the rows of a list lack, by kind. What is not named is taken for there. */
const LACKS = {
  experiments: ["config", "resources", "num_jobs", "is_clone", "has_tensorboard"],
  jobs: ["config", "is_clone", "resources", "node_scheduled"],
  builds: ["config", "resources", "node_scheduled", "num_jobs", "num_experiments", "dockerfile", "commit"],
  groups: ["content", "hptuning", "current_iteration", "has_tensorboard", ...GROUP_COUNTERS],
};

const PROFILES = {
  /** Only what the service's document shows. */
  document: { rows: {}, beyond: [], paging: false, batches: [] },
  "polyaxon-0.2": { rows: KNOWN_SERVERS, beyond: LISTS, paging: true, batches: [] },
  "polyaxon-0.4": {
    rows: {
      ...KNOWN_SERVERS,
      "experiment.outputs": "GET {owner}/{project}/experiments/{id}/outputs/download",
      "job.outputs": "GET {owner}/{project}/jobs/{id}/outputs/download",
    },
    beyond: [...LISTS, "groupMetrics", "experimentJobLogs"],
    paging: true,
    batches: [
      byIds(experiment.read, lists.experiments, LACKS.experiments),
      byIds(job.read, lists.jobs, LACKS.jobs),
      byIds(build.read, lists.builds, LACKS.builds),
      byIds(group.read, lists.groups, LACKS.groups),
      ofGroup(experiment.metrics, lists.groupMetrics),
    ],
  },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;
export const PROFILE_NAMES = Object.keys(PROFILES) as [ProfileName, ...ProfileName[]];

/** A server as the gateway addresses it: the document's table with a profile laid over it. */
export interface Server {
  /** The row as this server spells it; null when it does not have it. */
  readonly spell: <Row extends AnyRow>(row: Row) => Row | null;
  /** Whether the row is beyond the document and this server does not offer it. */
  readonly isBeyond: (row: AnyRow) => boolean;
  readonly hasLists: boolean;
  readonly hasExperimentJobLogs: boolean;
  readonly paging: boolean;
  /** How this row can be read many at a time; null when it cannot. */
  readonly batchOf: (row: AnyRow) => Batch | null;
}

/** The names of the table's rows: `experiment.read`, `administration.revoke`. */
export const ROW_NAMES: ReadonlyMap<string, AnyRow> = new Map(
  Object.entries(endpoints).flatMap(([section, rows]) =>
    Object.entries(rows).map(([name, row]): [string, AnyRow] => [`${section}.${name}`, row as AnyRow]),
  ),
);

/** Lays a profile over the table, and over both the rows that a setting names. */
export function describeServer(
  name: ProfileName,
  overrides: Readonly<Record<string, string | null>> = {},
): Server {
  const profile: Profile = PROFILES[name];
  const spelled = new Map<AnyRow, AnyRow | null>();
  for (const [rowName, spelling] of Object.entries({ ...profile.rows, ...overrides })) {
    const row = ROW_NAMES.get(rowName);
    if (!row) throw new TypeError(`no row is called ${rowName}`);
    spelled.set(row, spelling === null ? null : respell(row, spelling));
  }
  const offered = new Set<AnyRow>(profile.beyond.map((each) => lists[each]));
  const beyond = new Set<AnyRow>(Object.values(lists));
  return {
    // A respelled row differs in method and path only: its answer, its parameters and its body stay.
    spell: <Row extends AnyRow>(row: Row) => (spelled.has(row) ? (spelled.get(row) as Row | null) : row),
    isBeyond: (row) => beyond.has(row) && !offered.has(row),
    hasLists: LISTS.every((each) => offered.has(lists[each])),
    hasExperimentJobLogs: offered.has(lists.experimentJobLogs),
    paging: profile.paging,
    batchOf: (row) => profile.batches.find((batch) => batch.row === row) ?? null,
  };
}
