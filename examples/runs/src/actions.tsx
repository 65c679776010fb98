import { useRef } from "react";
import { useMutation } from "urql";
import { hrefOf, projectOf } from "./address.ts";
import { Confirm } from "./confirm.tsx";
import { Trouble } from "./errors.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const actionsFragment = graphql(`
  fragment Actions on Experiment {
    id
    uniqueName
    isFinished
    status
  }
`);

/** What it returns goes into the cache, and so into the table and the heading. */
const stopMutation = graphql(`
  mutation Stop($id: ID!) {
    stopExperiment(id: $id) {
      experiment {
        id
        isFinished
        ...Status
        ...Duration
      }
    }
  }
`);

const restartMutation = graphql(`
  mutation Restart($id: ID!) {
    restartExperiment(id: $id) {
      experiment {
        id
        uniqueName
      }
    }
  }
`);

/** Stops and restarts a run, and says what came of it. */
export function Actions({ of }: { of: FragmentType<typeof actionsFragment> }) {
  const { id, uniqueName, isFinished, status } = readFragment(actionsFragment, of);
  const [stopped, stop] = useMutation(stopMutation);
  const [restarted, restart] = useMutation(restartMutation);
  const question = useRef<HTMLDialogElement>(null);
  const started = restarted.data?.restartExperiment?.experiment;
  const isStopping = status === "STOPPING";
  return (
    <div className="actions">
      {!isFinished && (
        <button disabled={stopped.fetching || isStopping} onClick={() => question.current?.showModal()}>
          Stop
        </button>
      )}
      <button disabled={restarted.fetching} onClick={() => restart({ id })}>
        Restart
      </button>
      <p role="status">
        {stopped.fetching || (stopped.data && !isFinished) ? "Stopping…" : stopped.data && "Stopped."}
        {restarted.fetching && "Restarting…"}
        {started && (
          <>
            Started{" "}
            <a href={hrefOf({ list: projectOf(started.uniqueName), run: started.uniqueName })}>
              {started.uniqueName}
            </a>
          </>
        )}
      </p>
      <Trouble error={stopped.error} />
      <Trouble error={restarted.error} />
      <Confirm
        question={question}
        title={`Stop ${uniqueName}?`}
        act="Stop the run"
        onYes={() => stop({ id })}
      >
        It cannot go on afterwards, but it can be restarted from the beginning.
      </Confirm>
    </div>
  );
}
