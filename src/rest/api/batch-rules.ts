import type { Get } from "./endpoint.ts";
import type { Page } from "./reader.ts";
import type { Paging, Profile } from "./profile.ts";
import type { MetricRecord } from "./records.ts";
import type { RunAddress } from "./reference.ts";

export type Query = Readonly<Record<string, string>>;

/** One read of a run, with the details that determine whether it can be batched. */
export interface RunRead {
  readonly at: RunAddress;
  readonly query?: Query | undefined;
  /** The keys of the record that are needed; all keys if absent. */
  readonly keys?: readonly PropertyKey[];
  /** The group of an experiment, if it is known. */
  readonly group?: RunAddress | null;
}

/** Finds the response for one read in a list; undefined if the list does not contain it. */
export type Find = (read: RunRead) => unknown;

/** One list request that covers several reads. `find` returns a function that finds the response for each read. */
export interface ListRead {
  readonly endpoint: Get<RunAddress, unknown>;
  readonly at: RunAddress;
  readonly query: Query;
  readonly find: (answer: unknown) => Find;
}

/** How one list request can replace many reads of an endpoint. */
export interface BatchRule {
  readonly endpoint: Get<RunAddress, unknown>;
  /** A string that is equal for reads that one list can cover; null if the read cannot be batched. */
  readonly common: (read: RunRead) => string | null;
  readonly list: (reads: readonly [RunRead, ...RunRead[]]) => ListRead;
  readonly maxReads: number;
}

const NO_SIZE = { size: null, maxSize: null };

/** Batches reads of records into a list that is filtered by their ids, if list items have the needed keys. */
export function byIds<R extends { readonly id: number }>(
  endpoint: Get<RunAddress, R>,
  list: Get<Pick<RunAddress, "owner" | "project">, Page<R>>,
  { parameter, value, separator, max }: NonNullable<Profile["filters"]["ids"]>,
  paging: Paging,
  omittedInLists: readonly string[] = [],
): BatchRule {
  const omitted = new Set<PropertyKey>(omittedInLists);
  const { size, maxSize } = paging.by === "offset" ? paging : NO_SIZE;
  const maxReads = Math.min(max, maxSize ?? max);
  return {
    endpoint,
    common: ({ at: { owner, project }, keys }) =>
      keys?.every((key) => !omitted.has(key)) ? `${owner}/${project}` : null,
    list: (reads) => ({
      endpoint: list,
      at: reads[0].at,
      query: {
        [parameter]: value.replace("{ids}", () => reads.map(({ at }) => at.id).join(separator)),
        ...(size && { [size]: `${maxReads}` }),
      },
      find: (answer) => {
        // Safe: the value is the response of the list endpoint.
        const { results } = answer as Page<R>;
        const found = new Map(results.map((record) => [`${record.id}`, record]));
        return ({ at }) => found.get(at.id);
      },
    }),
    maxReads,
  };
}

/** Batches reads of the metrics of experiments in one group into a read of the metrics of the group. */
export function byGroup(
  endpoint: Get<RunAddress, Page<MetricRecord>>,
  list: Get<RunAddress, Page<MetricRecord>>,
  paging: Paging,
): BatchRule {
  const { size } = paging.by === "offset" ? paging : NO_SIZE;
  const isFirstPage = (query: Query = {}) => Object.keys(query).every((name) => name === size);
  return {
    endpoint,
    common: ({ group, query }) => (group && isFirstPage(query) ? Object.values(group).join("/") : null),
    list: ([{ at, group }]) => ({
      endpoint: list,
      at: group ?? at,
      query: {},
      find: (answer) => {
        // Safe: the value is the response of the list endpoint.
        const { results, next, count } = answer as Page<MetricRecord>;
        // On an incomplete page, an experiment may lack metrics. A record without an experiment could belong to any experiment.
        const isWhole = !next && (count ?? 0) <= results.length;
        return isWhole && results.every(({ experiment }) => experiment != null)
          ? pagesOf(results)
          : () => undefined;
      },
    }),
    maxReads: Number.POSITIVE_INFINITY,
  };
}

function pagesOf(records: readonly MetricRecord[]): Find {
  const byExperiment = new Map<string, MetricRecord[]>();
  for (const record of records) {
    const own = byExperiment.get(`${record.experiment}`) ?? [];
    own.push(record);
    byExperiment.set(`${record.experiment}`, own);
  }
  return ({ at }): Page<MetricRecord> => {
    const results = byExperiment.get(at.id) ?? [];
    return { count: results.length, next: null, results };
  };
}
