import { useLayoutEffect, useRef, useState } from "react";
import { useQuery } from "urql";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { useLogText } from "./watch-log.ts";

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

/** The end of the log of a run, and what is written meanwhile. */
export function Log({ id, name }: { id: string; name: string }) {
  const [{ data, error, fetching }, read] = useQuery({
    query: logQuery,
    variables: { id },
    requestPolicy: "network-only",
  });
  const run = data?.experiment;
  const retry = () => read({ requestPolicy: "network-only" });
  if (fetching) return <Loading what="the log" lines={12} />;
  if (error || !run) return <Trouble error={error} retry={retry} />;
  const { text, endCursor } = run.logs ?? { text: "", endCursor: null };
  return <Following id={id} name={name} text={text} endCursor={endCursor} isFinished={run.isFinished} />;
}

interface FollowingProps {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly endCursor: string | null;
  readonly isFinished: boolean;
}

/** Shows the end of a text that grows, until somebody scrolls up. */
function Following({ name, ...log }: FollowingProps) {
  const text = useLogText(log);
  const box = useRef<HTMLPreElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  useLayoutEffect(() => {
    if (isFollowing) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [text, isFollowing]);
  if (!text) return <p className="empty">{log.isFinished ? "No log was written." : "No log yet."}</p>;
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
