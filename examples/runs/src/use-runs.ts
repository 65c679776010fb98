import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { type CombinedError, useClient } from "urql";
import { projectOf, within } from "./address.ts";
import { valuesOf } from "./format.ts";
import type { RowFragment, RunFilter, RunOrder, RunsQuery } from "./generated/graphql.ts";
import { graphql, readFragment } from "./generated/index.ts";
import { useLive, useRetry } from "./live.tsx";

const rowFragment = graphql(`
  fragment Row on Experiment {
    id
    uniqueName
    name
    description
    createdAt
    startedAt
    finishedAt
    updatedAt
    isFinished
    isArchived
    status
    durationSeconds
    tags
    user {
      id
      username
    }
    experimentGroup {
      id
      uniqueName
    }
    parameters {
      name
      value
    }
    latestMetrics {
      name
      value
    }
    ...Status
  }
`);

const runsQuery = graphql(`
  query Runs($project: ID!, $first: Int!, $after: String, $order: RunOrder!, $filter: RunFilter) {
    project(id: $project) {
      id
      experiments(first: $first, after: $after, order: $order, filter: $filter) {
        totalCount
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          id
          ...Row
        }
      }
    }
  }
`);

const watchRunsSubscription = graphql(`
  subscription WatchRuns($of: ID!) {
    runsUpdated(of: $of) {
      previousStatus
      run {
        id
        createdAt
        status
        ...Row
      }
    }
  }
`);

export type Run = Omit<RowFragment, "parameters"> & {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly metrics: Readonly<Record<string, number | null | undefined>>;
};

interface Page {
  readonly runs: readonly Run[];
  readonly totalCount: number | null;
  readonly endCursor: string | null;
  readonly hasNextPage: boolean;
}

function pageOf(data: RunsQuery | undefined): Page | null {
  const found = data?.project?.experiments;
  if (!found) return null;
  const { totalCount, pageInfo, nodes } = found;
  const runs = readFragment(rowFragment, nodes).map((run) => ({
    ...run,
    parameters: valuesOf(run.parameters),
    metrics: valuesOf(run.latestMetrics),
  }));
  return { runs, totalCount, ...pageInfo };
}

/** Page sizes: of the first page and while scrolling, and if all runs are needed. */
const [FIRST, AT_ONCE] = [100, 500];
const MOST = 10_000;
/** Key of the first page when it is read again. It sorts before the pages that were read earlier. */
const FRESH = -1;

export interface Wanted {
  readonly list: string;
  readonly filter: RunFilter | null;
  readonly order: RunOrder;
  /** Whether all runs are needed, because the page itself sorts or groups them. */
  readonly isAll: boolean;
  /** Maximum page size of the gateway. Undefined until it is known. */
  readonly maxPageSize: number | undefined;
  /** Whether the filter is ready. It can depend on names that are still being read. */
  readonly isReady: boolean;
}

interface Shown {
  /** Key of the list that was read. Its runs stay in the table while another list is read. */
  readonly of: string;
  readonly pages: ReadonlyMap<number, Page>;
}

/** The runs of some pages, each once. If the reread first page contains the whole list, runs of older pages are left out. */
function runsIn(pages: Shown["pages"]): readonly Run[] {
  const fresh = pages.get(FRESH);
  const inOrder = [...pages].toSorted(([one], [other]) => one - other).map(([, page]) => page);
  const shown = fresh?.hasNextPage === false ? [fresh] : inOrder;
  return [...new Map(shown.flatMap((page) => page.runs.map((run) => [run.id, run]))).values()];
}

/** Reads the runs of a list page by page. Each page follows the cache, which events and mutations update. */
export function useRuns({ list, filter, order, isAll, maxPageSize, isReady }: Wanted) {
  const client = useClient();
  const key = JSON.stringify([list, filter, order]);
  const [{ of, pages }, setShown] = useState<Shown>({ of: "", pages: new Map() });
  const [fetching, setFetching] = useState(true);
  const [error, setError] = useState<CombinedError>();
  const open = useRef(new Map<number, () => void>());

  const read = useEffectEvent((at: number, first: number, after: string | null) => {
    open.current.get(at)?.();
    setFetching(true);
    setError(undefined);
    const variables = { project: projectOf(list), first, after, order, filter: within(list, filter) };
    const { unsubscribe } = client
      .query(runsQuery, variables, { requestPolicy: after ? "cache-first" : "network-only" })
      .subscribe(({ data, error: trouble, stale }) => {
        const page = pageOf(data);
        if (page)
          setShown((before) => ({
            of: key,
            pages: new Map(before.of === key ? before.pages : []).set(at, page),
          }));
        if (stale) return;
        setFetching(false);
        setError(trouble);
      });
    open.current.set(at, unsubscribe);
  });

  useEffect(() => {
    const { current } = open;
    if (isReady) read(0, FIRST, null);
    return () => {
      for (const close of current.values()) close();
      current.clear();
    };
  }, [client, key, isReady]);

  const isOld = of !== key;
  const last = Math.max(...pages.keys(), 0);
  const { hasNextPage = false, endCursor = null } = pages.get(last) ?? {};
  const fresh = pages.get(FRESH);
  const runs = useMemo(() => runsIn(pages), [pages]);
  const hasMore = hasNextPage && fresh?.hasNextPage !== false && runs.length < MOST;

  const size = isAll ? Math.min(AT_ONCE, maxPageSize ?? FIRST) : FIRST;
  const readMore = useEffectEvent(() => read(last + 1, size, endCursor));
  const isHungry = isAll && hasMore && !isOld && !fetching && !error && maxPageSize !== undefined;
  useEffect(() => {
    if (isHungry) readMore();
  }, [isHungry, last]);

  /** Reads the beginning of the list again. The cursors of the other pages stay valid. */
  const reload = () => read(isOld ? 0 : FRESH, isOld ? FIRST : FIRST - 1, null);
  const retry = () => (isOld || pages.size === 0 || !hasMore ? reload() : readMore());
  useRetry(error, retry);
  const listed = useMemo(() => runs.filter(({ isArchived }) => !isArchived), [runs]);
  // Remembers the number, because a list that is read again has no archived runs.
  const [archived, setArchived] = useState(0);
  if (runs.length - listed.length > archived) setArchived(runs.length - listed.length);
  return {
    runs: listed,
    /** Number of runs that were archived while the list was shown. */
    archived,
    totalCount: (fresh ?? pages.get(0))?.totalCount ?? null,
    isRead: pages.size > 0,
    isOld,
    fetching,
    hasMore,
    error,
    reload,
    readMore: () => hasMore && !isOld && !fetching && !error && read(last + 1, size, endCursor),
  };
}

/** Subscribes to a list: one poll of the service for any number of runs. Calls `onChange` for a new run or a new status. */
export function useRunUpdates(list: string, runs: readonly Run[], onChange: () => void) {
  const newest = Math.max(...runs.map(({ createdAt }) => Date.parse(createdAt ?? "")));
  return useLive({
    query: watchRunsSubscription,
    of: list,
    isOver: false,
    variables: () => ({ of: list }),
    onEvent: ({ runsUpdated: { previousStatus, run } }) => {
      const shown = runs.find(({ id }) => id === run.id);
      const isNew = !shown && Date.parse(run.createdAt ?? "") > newest;
      // The first event after a break has no previous status, so the status in the table counts.
      const before = previousStatus ?? shown?.status ?? run.status;
      if (isNew || before !== run.status) onChange();
    },
  });
}
