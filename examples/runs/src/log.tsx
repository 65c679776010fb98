import { useLayoutEffect, useRef, useState } from "react";
import { useQuery } from "urql";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";

const logQuery = graphql(`
  query Log($id: ID!) {
    experiment(id: $id) {
      id
      isFinished
      logs(tailLines: 500) {
        text
        startByte
        endCursor
      }
    }
  }
`);

/** The end of the log of a run. */
export function Log({ id, name }: { id: string; name: string }) {
  const [{ data, error, fetching }, read] = useQuery({
    query: logQuery,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const run = data?.experiment;
  if (!run && fetching) return <Loading what="the log" lines={12} />;
  const retry = () => read({ requestPolicy: "network-only" });
  return (
    <>
      {!fetching && <Trouble error={error} data={run?.logs} retry={retry} />}
      {run && !error && <Text name={name} text={run.logs?.text ?? ""} isFinished={run.isFinished} />}
    </>
  );
}

/** Shows the end of a text until somebody scrolls up. */
function Text({ name, text, isFinished }: { name: string; text: string; isFinished: boolean }) {
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
