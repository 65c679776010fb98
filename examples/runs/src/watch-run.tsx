import { graphql } from "./generated/index.ts";
import { useLive } from "./live.ts";
import { LiveBadge } from "./live-badge.tsx";

/** Each event goes into the cache, and so into every place that shows the run. */
const watchRunSubscription = graphql(`
  subscription WatchRun($id: ID!) {
    runUpdated(id: $id) {
      run {
        id
        isFinished
        ...Status
        ...Dates
      }
    }
  }
`);

/** Follows a run that no list on the page contains. Render it only while the run is unfinished. */
export function WatchRun({ id }: { id: string }) {
  const state = useLive({
    query: watchRunSubscription,
    of: id,
    isOver: false,
    variables: () => ({ id }),
    onEvent: () => {},
  });
  return <LiveBadge state={state} />;
}
