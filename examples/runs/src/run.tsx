import { useEffect, useEffectEvent, useRef } from "react";
import { useMutation } from "urql";
import { type Address, hrefOf, runHref } from "./address.ts";
import { Charts } from "./charts.tsx";
import { Trouble } from "./errors.tsx";
import { Files } from "./files.tsx";
import { clock, textOf } from "./format.ts";
import type { Capability, RunQuery } from "./generated/graphql.ts";
import { graphql } from "./generated/index.ts";
import { LiveBadge, useLive, useRead } from "./live.tsx";
import { Log } from "./log.tsx";
import { NewRun } from "./new-run.tsx";
import { Button, Confirm, Fact, Loading, Moment } from "./parts.tsx";
import { archiveMutation } from "./selection.tsx";
import { Status } from "./status.tsx";

const runQuery = graphql(`
  query Run($id: ID!) {
    gateway {
      capabilities
    }
    experiment(id: $id) {
      id
      uniqueName
      description
      tags
      status
      isFinished
      isArchived
      startedAt
      parameters {
        name
        value
      }
      original {
        id
        uniqueName
      }
      jobs {
        nodes {
          id
          nodeScheduled {
            id
            name
          }
        }
      }
      ...Status
      durationSeconds
      ...NewRun
      ...Files
      ...Charts
    }
  }
`);

/** Each event updates the cache, and thus every place that shows the run. */
const watchRunSubscription = graphql(`
  subscription WatchRun($id: ID!) {
    runUpdated(id: $id) {
      run {
        id
        isFinished
        ...Status
        durationSeconds
      }
    }
  }
`);

const stopMutation = graphql(`
  mutation Stop($id: ID!) {
    stopExperiment(id: $id) {
      experiment {
        id
        isFinished
        ...Status
        durationSeconds
      }
    }
  }
`);

const failureQuery = graphql(`
  query Failure($id: ID!) {
    experiment(id: $id) {
      id
      latestStatus {
        id
        message
        traceback
      }
    }
  }
`);

type Experiment = NonNullable<RunQuery["experiment"]>;

const VIEWS = { Charts: undefined, Log: "log", Files: "files" };

/** A run: its properties, and its charts, log or files. */
export function Run({ name, address }: { name: string; address: Address }) {
  const { data, error, fetching, reload } = useRead({ query: runQuery, variables: { id: name } });
  const run = data?.experiment;
  // A new status can also change the jobs, the machines and more.
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
        {name} {run && <Status of={run} />} {run && !run.isFinished && <Watch id={run.id} />}
      </h2>
      {!run && fetching && <Loading what={name} />}
      <Trouble error={error} data={run} retry={reload} />
      {run && (
        <>
          <Actions run={run} offered={data.gateway.capabilities} />
          {run.status === "FAILED" && <Failure id={run.id} />}
          <Facts run={run} />
          <nav className="views" aria-label="Views of the run">
            {Object.entries(VIEWS).map(([word, view]) => (
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
  const [variables, onEvent] = [() => ({ id }), () => {}];
  return (
    <LiveBadge state={useLive({ query: watchRunSubscription, of: id, isOver: false, variables, onEvent })} />
  );
}

/** Buttons that stop a run, start a new one like it, or restore it from the archive. */
function Actions({ run, offered }: { run: Experiment; offered: readonly Capability[] }) {
  const { id, uniqueName, isFinished, isArchived, status } = run;
  const [stopped, stop] = useMutation(stopMutation);
  const [archived, archive] = useMutation(archiveMutation);
  return (
    <div className="actions">
      {!isFinished && (
        <Confirm
          act="Stop"
          of={uniqueName}
          isOff={stopped.fetching || status === "STOPPING"}
          onYes={() => void stop({ id })}
        >
          A stopped run cannot be resumed. A new run like it starts from the beginning.
        </Confirm>
      )}
      {offered.includes("CREATE_RUNS") && <NewRun key={id} of={run} />}
      {isArchived && offered.includes("ARCHIVES") && (
        <Button isOff={archived.fetching} onClick={() => void archive({ ids: [id], isArchived: false })}>
          Restore
        </Button>
      )}
      <Trouble error={stopped.error ?? archived.error} />
    </div>
  );
}

function Facts({ run }: { run: Experiment }) {
  const { description, tags, parameters, startedAt, original, jobs } = run;
  const machines = new Set(jobs?.nodes.flatMap(({ nodeScheduled: node }) => node?.name ?? []));
  return (
    <>
      <p className="hint">{description}</p>
      <dl className="facts">
        {parameters?.map(({ name, value }) => (
          <Fact key={name} name={name}>
            {textOf(value)}
          </Fact>
        ))}
        <Fact name="tags">{tags?.join(", ")}</Fact>
        <Fact name="started">{startedAt ? <Moment at={startedAt} /> : "not yet"}</Fact>
        <Fact name="duration">{clock(run.durationSeconds)}</Fact>
        <Fact name="cloned from">
          {original && <a href={runHref(original.uniqueName)}>{original.uniqueName}</a>}
        </Fact>
        <Fact name="machine">{[...machines].join(", ")}</Fact>
      </dl>
    </>
  );
}

/** The reason why a run failed: the message of its last status, and the traceback. */
function Failure({ id }: { id: string }) {
  const { data, error, reload } = useRead({ query: failureQuery, variables: { id } });
  const { message, traceback } = data?.experiment?.latestStatus ?? {};
  return (
    <section className="failure" data-phase="FAILED" aria-label="Why it failed">
      <Trouble error={error} retry={reload} />
      <p>{message}</p>
      {traceback && <pre tabIndex={0}>{traceback}</pre>}
    </section>
  );
}
