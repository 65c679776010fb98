import type { Get } from "./endpoint.ts";
import type { Page } from "./page.ts";
import type { Paging, Profile } from "./profile.ts";
import type { MetricRecord } from "./records.ts";
import type { RunAddress } from "./reference.ts";

/** Parameters behind the `?` of a list. */
export type Query = Readonly<Record<string, string>>;

/** One read of a run, as far as it matters for answering it together with others. */
export interface RunRead {
  readonly at: RunAddress;
  readonly query?: Query | undefined;
  /** Keys of the record that are needed; absent: all of them. */
  readonly keys?: readonly PropertyKey[];
  /** The group that an experiment is known to be in. */
  readonly group?: RunAddress | null;
}

/** Finds the answer of a read among those of a list; undefined: it is not there. */
export type Find = (read: RunRead) => unknown;

/** One list that answers several reads, and how each of them finds its answer in it. */
export interface ListRead<At, Answer> {
  readonly endpoint: Get<At, Answer>;
  readonly at: At;
  readonly query: Query;
  readonly find: (answer: Answer) => Find;
}

/** How one request can answer many reads of an endpoint. */
export interface Batch {
  /** The endpoint that is read many at a time. */
  readonly endpoint: Get<RunAddress, unknown>;
  /** What the reads of one request have in common; null: this one must be asked alone. */
  readonly common: (read: RunRead) => string | null;
  /** The list that answers these reads, handed to `use`: only the batch knows the types of its endpoint. */
  readonly list: <Result>(
    reads: readonly [RunRead, ...RunRead[]],
    use: <At, Answer>(list: ListRead<At, Answer>) => Result,
  ) => Result;
  /** Most reads of one request. */
  readonly maxReads: number;
}

interface InProject {
  readonly owner: string;
  readonly project: string;
}

/** How a server filters a list by ids. */
export interface IdRules {
  readonly ids: NonNullable<Profile["filters"]["ids"]>;
  readonly paging: Paging;
  /** Keys that the items of the list lack. */
  readonly omitted: readonly string[];
}

/** Records by the list's filter on ids, as long as the keys that are needed are in the items of the list. */
export function byIds<R extends { readonly id: number }>(
  endpoint: Get<RunAddress, R>,
  list: Get<InProject, Page<R>>,
  { ids: { parameter, value, separator, max }, paging, omitted: omittedInLists }: IdRules,
): Batch {
  const omitted = new Set<PropertyKey>(omittedInLists);
  const { size, maxSize } = sizeOf(paging);
  const most = Math.min(max, maxSize);
  return {
    endpoint,
    common: ({ at: { owner, project }, keys }) =>
      keys?.every((key) => !omitted.has(key)) ? `${owner}/${project}` : null,
    list: (reads, use) =>
      use({
        endpoint: list,
        at: reads[0].at,
        query: {
          [parameter]: value.replace("{ids}", () => reads.map(({ at }) => at.id).join(separator)),
          ...(size && { [size]: `${most}` }),
        },
        find: ({ results }) => {
          const found = new Map(results.map((record) => [`${record.id}`, record]));
          return ({ at }) => found.get(at.id);
        },
      }),
    maxReads: most,
  };
}

/** The metrics of experiments that are known to be in one group, by the metrics of the group. */
export function byGroup(
  endpoint: Get<RunAddress, Page<MetricRecord>>,
  list: Get<RunAddress, Page<MetricRecord>>,
  paging: Paging,
): Batch {
  const { size } = sizeOf(paging);
  const isFirstPage = (query: Query = {}) => Object.keys(query).every((name) => name === size);
  return {
    endpoint,
    common: ({ group, query }) => (group && isFirstPage(query) ? Object.values(group).join("/") : null),
    list: ([{ at, group }], use) =>
      use({
        endpoint: list,
        at: group ?? at,
        query: {},
        find: ({ results, next, count }) => {
          // A list with a next page does not tell that an experiment has no more; a record of nobody could be anybody's.
          const isWhole = !next && (count ?? 0) <= results.length;
          return isWhole && results.every(({ experiment }) => experiment != null)
            ? pagesOf(results)
            : () => undefined;
        },
      }),
    maxReads: Number.POSITIVE_INFINITY,
  };
}

/** All records of each experiment, as one page. */
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

/** The parameter that takes the length of a page, null where there is none, and the longest that can be asked for. */
function sizeOf(paging: Paging): { readonly size: string | null; readonly maxSize: number } {
  if (paging.by === "link") return { size: null, maxSize: Number.POSITIVE_INFINITY };
  return { size: paging.size, maxSize: paging.maxSize ?? Number.POSITIVE_INFINITY };
}
