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

/** A run as the table shows it. */
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

/** Runs of the first page, and of the next ones while somebody scrolls; and of a page where all runs are needed. */
const [FIRST, AT_ONCE] = [100, 500];
/** Maximum number of runs that are loaded. */
const MOST = 10_000;
/** The number under which the newest state of the first page is kept, before the pages that were read earlier. */
const FRESH = -1;

export interface Wanted {
  readonly list: string;
  readonly filter: RunFilter | null;
  readonly order: RunOrder;
  /** Whether the page itself sorts or groups, and so needs all runs. */
  readonly isAll: boolean;
  /** Largest page of the gateway. */
  readonly maxPageSize: number | undefined;
  /** Whether it is known already which runs are wanted. */
  readonly isReady: boolean;
}

interface Shown {
  /** Key of the list that was read: while another one is read, the runs of before stay. */
  readonly of: string;
  readonly pages: ReadonlyMap<number, Page>;
}

/** The runs of some pages, each once. With all of them on the newest first page, those that are gone are gone. */
function runsIn(pages: Shown["pages"]): readonly Run[] {
  const fresh = pages.get(FRESH);
  const inOrder = [...pages].toSorted(([one], [other]) => one - other).map(([, page]) => page);
  const shown = fresh?.hasNextPage === false ? [fresh] : inOrder;
  return [...new Map(shown.flatMap((page) => page.runs.map((run) => [run.id, run]))).values()];
}

/** The runs of a list, page by page. Each page follows the cache, and so events and mutations. */
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

  /** Reads the beginning of the list again: the cursors of the other pages stay good. */
  const reload = () => read(isOld ? 0 : FRESH, isOld ? FIRST : FIRST - 1, null);
  const retry = () => (isOld || pages.size === 0 || !hasMore ? reload() : readMore());
  useRetry(error, retry);
  const listed = useMemo(() => runs.filter(({ isArchived }) => !isArchived), [runs]);
  // Lists that are read again no longer have them.
  const [archived, setArchived] = useState(0);
  if (runs.length - listed.length > archived) setArchived(runs.length - listed.length);
  return {
    runs: listed,
    /** How many runs of the list were archived while they were shown. */
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

/** Follows the runs of a list: one poll of the service, however many runs. `onChange`: one has appeared or has another status. */
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
      // The first event after a break does not know what was reported before it; the table does.
      const before = previousStatus ?? shown?.status ?? run.status;
      if (isNew || before !== run.status) onChange();
    },
  });
}
