import { useLayoutEffect, useRef, useState } from "react";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { useLive, useRead } from "./live.tsx";
import { Loading } from "./parts.tsx";

const logQuery = graphql(`
  query Log($id: ID!) {
    experiment(id: $id) {
      id
      isFinished
      logs(tailLines: 500) {
        text
        endCursor
      }
    }
  }
`);

const watchLogSubscription = graphql(`
  subscription WatchLog($id: ID!, $after: String) {
    runLogAppended(id: $id, after: $after) {
      text
      endCursor
      isRestarted
    }
  }
`);

/** The end of a run's log, extended live. */
export function Log({ id, name }: { id: string; name: string }) {
  const { data, error, fetching, reload } = useRead({
    query: logQuery,
    variables: { id },
    requestPolicy: "network-only",
  });
  const run = data?.experiment;
  if (fetching) return <Loading what="the log" />;
  if (error || !run) return <Trouble error={error} retry={reload} />;
  const { text, endCursor } = run.logs ?? { text: "", endCursor: null };
  return <Following id={id} name={name} text={text} endCursor={endCursor} isFinished={run.isFinished} />;
}

interface FollowingProps {
  readonly id: string;
  readonly name: string;
  /** The end of the log and the cursor after it, as they were read. Empty and null if there is no log yet. */
  readonly text: string;
  readonly endCursor: string | null;
  readonly isFinished: boolean;
}

/** Shows a growing text, each line once. Stays at its end until the reader scrolls up. */
function Following({ id, name, isFinished, ...read }: FollowingProps) {
  const [{ text, endCursor }, setLog] = useState(read);
  useLive({
    query: watchLogSubscription,
    of: id,
    isOver: isFinished,
    variables: () => ({ id, after: endCursor }),
    onEvent: ({ runLogAppended: chunk }) =>
      setLog((log) => ({
        text: (chunk.isRestarted ? "" : log.text) + chunk.text,
        endCursor: chunk.endCursor,
      })),
  });
  const box = useRef<HTMLPreElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  useLayoutEffect(() => {
    if (isFollowing) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [text, isFollowing]);
  if (!text) return <p className="empty">{isFinished ? "No log was written." : "No log yet."}</p>;
  return (
    <div className="log">
      <pre
        ref={box}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={`Log of ${name}`}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          setFollowing(scrollHeight - scrollTop - clientHeight < 24)
        }
      >
        {text}
      </pre>
      {!isFollowing && <button onClick={() => setFollowing(true)}>To the end</button>}
    </div>
  );
}
