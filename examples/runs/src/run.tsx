import { useQuery } from "urql";
import { Actions } from "./actions.tsx";
import { type Address, hrefOf } from "./address.ts";
import { Charts } from "./charts.tsx";
import { Downloads } from "./downloads.tsx";
import { Trouble } from "./errors.tsx";
import { Failure } from "./failure.tsx";
import { Facts } from "./facts.tsx";
import { graphql } from "./generated/index.ts";
import { Graph } from "./graph.tsx";
import { Loading } from "./loading.tsx";
import { Log } from "./log.tsx";
import { useOnChange } from "./on-change.ts";
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
      ...Status
      ...Actions
      ...Facts
      ...Downloads
      ...Charts
      ...Graph
    }
  }
`);

export function Run({ name, address }: { name: string; address: Address }) {
  const [{ data, error, fetching }, read] = useQuery({ query: runQuery, variables: { id: name } });
  const run = data?.experiment;
  const offered = data?.gateway.capabilities ?? [];
  const reload = () => read({ requestPolicy: "network-only" });
  // The status comes with the events of the list; with it change the jobs, the machines and what else there is.
  useOnChange(run?.status, reload);
  return (
    <>
      <h2>
        {name} {run && <Status of={run} />}
      </h2>
      {!run && fetching && <Loading what={name} lines={8} />}
      {!fetching && <Trouble error={error} data={run} retry={reload} />}
      {run && (
        <>
          <Actions of={run} offered={offered} />
          {run.status === "FAILED" && <Failure id={run.id} />}
          <Facts of={run} address={address} offered={offered} />
          <Views address={address} />
          {address.show === "log" ? (
            <Log id={run.id} name={name} />
          ) : (
            <>
              <Charts of={run} address={address} onChange={reload} />
              <Graph run={run} address={address} />
            </>
          )}
          <Downloads of={run} address={address} />
        </>
      )}
    </>
  );
}

function Views({ address }: { address: Address }) {
  const views = [
    { word: "Overview", show: undefined },
    { word: "Log", show: "log" },
  ];
  return (
    <nav className="views" aria-label="Views of the run">
      {views.map(({ word, show }) => (
        <a
          key={word}
          href={hrefOf({ ...address, show })}
          aria-current={show === address.show ? "page" : undefined}
        >
          {word}
        </a>
      ))}
    </nav>
  );
}
