import type { Get } from "./endpoint.ts";
import type { MetricRecord, Page } from "./records.ts";
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

type Ask = <At, Answer>(endpoint: Get<At, Answer>, at: At, query: Query) => Promise<Answer>;

/** Finds the answer of a read among those of a list; undefined: it is not there. */
type Find = (read: RunRead) => unknown;

/** How one request can answer many reads of an endpoint. */
export interface Batch {
  /** The endpoint that is read many at a time. */
  readonly endpoint: Get<RunAddress, unknown>;
  /** What the reads of one request have in common; null: this one must be asked alone. */
  readonly common: (read: RunRead) => string | null;
  readonly ask: (ask: Ask, reads: readonly [RunRead, ...RunRead[]]) => Promise<Find>;
  /** Most reads of one request. */
  readonly most: number;
}

/** Most ids in one filter. */
const MAX_IDS = 100;

interface InProject {
  readonly owner: string;
  readonly project: string;
}

/** Records by the list's filter on ids, as long as the keys that are needed are in the items of the list. */
export function byIds<R extends { readonly id: number }>(
  endpoint: Get<RunAddress, R>,
  list: Get<InProject, Page<R>>,
  omittedInLists: readonly string[],
): Batch {
  const omitted = new Set<PropertyKey>(omittedInLists);
  return {
    endpoint,
    common: ({ at: { owner, project }, keys }) =>
      keys?.every((key) => !omitted.has(key)) ? `${owner}/${project}` : null,
    ask: async (ask, reads) => {
      const ids = reads.map(({ at }) => at.id);
      const { results } = await ask(list, reads[0].at, {
        query: `id:${ids.join("|")}`,
        limit: `${MAX_IDS}`,
      });
      const found = new Map(results.map((record) => [`${record.id}`, record]));
      return ({ at }) => found.get(at.id);
    },
    most: MAX_IDS,
  };
}

/** The metrics of experiments that are known to be in one group, by the metrics of the group. */
export function ofGroup(
  endpoint: Get<RunAddress, Page<MetricRecord>>,
  list: Get<RunAddress, Page<MetricRecord>>,
): Batch {
  return {
    endpoint,
    common: ({ group, query }) => (group && !query?.["offset"] ? Object.values(group).join("/") : null),
    ask: async (ask, [{ at, group }]) => {
      const { results, next } = await ask(list, group ?? at, {});
      // A list with a next page does not tell that an experiment has no more; a record of nobody could be anybody's.
      const tellsAll = !next && results.every(({ experiment }) => experiment != null);
      return tellsAll ? pagesOf(results) : () => undefined;
    },
    most: Number.POSITIVE_INFINITY,
  };
}

/** The first page of each experiment, as its own list would give it. */
function pagesOf(records: readonly MetricRecord[]): Find {
  const byExperiment = new Map<string, MetricRecord[]>();
  for (const record of records) {
    const own = byExperiment.get(`${record.experiment}`) ?? [];
    own.push(record);
    byExperiment.set(`${record.experiment}`, own);
  }
  return ({ at, query }): Page<MetricRecord> => {
    const own = byExperiment.get(at.id) ?? [];
    const limit = Number(query?.["limit"] ?? own.length);
    return { count: own.length, next: null, previous: null, results: own.slice(0, limit) };
  };
}
