import { graphql } from "./generated/index.ts";
import { type LiveState, useLive } from "./live.ts";

/** Each event goes into the cache, and so into every place that shows the run. */
const watchRunsSubscription = graphql(`
  subscription WatchRuns($of: ID!) {
    runsUpdated(of: $of) {
      previousStatus
      run {
        id
        createdAt
        status
        ... on Experiment {
          ...RunRow
        }
      }
    }
  }
`);

interface Watched {
  /** Global id of a group or a project. */
  readonly of: string;
  readonly runs: readonly {
    readonly id: string;
    readonly createdAt: string | null;
    readonly status: string;
  }[];
  /** Whether a new run belongs to the runs. In other orders it can be on any page. */
  readonly isNewestFirst: boolean;
  /** Called when a run was added or has changed its status, which the events do not put into lists and counts. */
  readonly onChange: () => void;
}

/** Follows the runs of a list: one poll of the service, however many runs. */
export function useRunUpdates({ of, runs, isNewestFirst, onChange }: Watched): LiveState {
  const newest = Math.max(...runs.map(({ createdAt }) => Date.parse(createdAt ?? "")));
  return useLive({
    query: watchRunsSubscription,
    of,
    isOver: false,
    variables: () => ({ of }),
    onEvent: ({ runsUpdated: { previousStatus, run } }) => {
      const isOlder = Date.parse(run.createdAt ?? "") < newest;
      const shown = runs.find(({ id }) => id === run.id);
      const isNew = isNewestFirst && !isOlder && !shown;
      // The first event after a break does not know what was told before it: what is shown does.
      const before = previousStatus ?? shown?.status ?? run.status;
      if (isNew || before !== run.status) onChange();
    },
  });
}
