import { useEffect, useEffectEvent, useRef } from "react";
import { Actions } from "./actions.tsx";
import { type Address, hrefOf } from "./address.ts";
import { Charts } from "./charts.tsx";
import { Trouble } from "./errors.tsx";
import { Facts } from "./facts.tsx";
import { Files } from "./files.tsx";
import { graphql } from "./generated/index.ts";
import { LiveBadge, useLive, useRead } from "./live.tsx";
import { Log } from "./log.tsx";
import { Loading } from "./parts.tsx";
import { Status } from "./status.tsx";

/** Each part says in its fragment what it shows; all of them are one request. */
const runQuery = graphql(`
  query Run($id: ID!) {
    gateway {
      capabilities
    }
    experiment(id: $id) {
      id
      status
      isFinished
      ...Status
      ...Actions
      ...Facts
      ...Files
      ...Charts
    }
  }
`);

/** Each event goes into the cache, and so into every place that shows the run. */
const watchRunSubscription = graphql(`
  subscription WatchRun($id: ID!) {
    runUpdated(id: $id) {
      run {
        id
        isFinished
        finishedAt
        ...Status
        ...Duration
      }
    }
  }
`);

/** A run: its facts, and its charts, log or files. */
export function Run({ name, address }: { name: string; address: Address }) {
  const { data, error, fetching, reload } = useRead({ query: runQuery, variables: { id: name } });
  const run = data?.experiment;
  const offered = data?.gateway.capabilities ?? [];
  // With the status change the jobs, the machines and more.
  const before = useRef(run?.status);
  const onStatus = useEffectEvent(reload);
  useEffect(() => {
    if (before.current !== undefined && before.current !== run?.status) onStatus();
    before.current = run?.status;
  }, [run?.status]);
  const { show } = address;
  return (
    <>
      <h2>
        {name} {run && <Status of={run} />}
        {run && !run.isFinished && <Watch id={run.id} />}
      </h2>
      {!run && fetching && <Loading what={name} lines={8} />}
      <Trouble error={error} data={run} retry={reload} />
      {run && (
        <>
          <Actions of={run} offered={offered} />
          <Facts of={run} />
          <nav className="views" aria-label="Views of the run">
            {[
              { word: "Charts", view: undefined },
              { word: "Log", view: "log" },
              { word: "Files", view: "files" },
            ].map(({ word, view }) => (
              <a
                key={word}
                href={hrefOf({ ...address, show: view })}
                aria-current={show === view ? "page" : undefined}
              >
                {word}
              </a>
            ))}
          </nav>
          {show === "log" && <Log id={run.id} name={name} />}
          {show === "files" && <Files of={run} />}
          {!show && <Charts of={run} address={address} onChange={reload} />}
        </>
      )}
    </>
  );
}

function Watch({ id }: { id: string }) {
  const state = useLive({
    query: watchRunSubscription,
    of: id,
    isOver: false,
    variables: () => ({ id }),
    onEvent: () => {},
  });
  return <LiveBadge state={state} />;
}
