import { useRef } from "react";
import { useMutation } from "urql";
import { Trouble } from "./errors.tsx";
import type { Capability } from "./generated/graphql.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { NewRun } from "./new-run.tsx";
import { Button, Confirm } from "./parts.tsx";
import { archiveMutation } from "./selection.tsx";

const actionsFragment = graphql(`
  fragment Actions on Experiment {
    id
    uniqueName
    isFinished
    isArchived
    status
    ...NewRun
  }
`);

/** The returned record updates the cache, and so the table and the heading. */
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

interface ActionsProps {
  readonly of: FragmentType<typeof actionsFragment>;
  /** Capabilities of the server. */
  readonly offered: readonly Capability[];
}

/** Stops a run, restores it from the archive, and starts a new one like it. */
export function Actions({ of, offered }: ActionsProps) {
  const run = readFragment(actionsFragment, of);
  const { id, uniqueName, isFinished, isArchived, status } = run;
  const [stopped, stop] = useMutation(stopMutation);
  const [archived, archive] = useMutation(archiveMutation);
  const question = useRef<HTMLDialogElement>(null);
  return (
    <div className="actions">
      {!isFinished && (
        <Button
          isOff={stopped.fetching || status === "STOPPING"}
          onClick={() => question.current?.showModal()}
        >
          Stop
        </Button>
      )}
      {offered.includes("CREATE_RUNS") && <NewRun key={id} of={run} />}
      {isArchived && offered.includes("ARCHIVES") && (
        <Button isOff={archived.fetching} onClick={() => void archive({ ids: [id], isArchived: false })}>
          Restore
        </Button>
      )}
      <Trouble error={stopped.error ?? archived.error} />
      <Confirm
        question={question}
        title={`Stop ${uniqueName}?`}
        act="Stop the run"
        onYes={() => stop({ id })}
      >
        It cannot go on afterwards. A new run like it begins anew.
      </Confirm>
    </div>
  );
}
