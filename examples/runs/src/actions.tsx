import { useRef } from "react";
import { useMutation } from "urql";
import { Button } from "./button.tsx";
import { Confirm } from "./confirm.tsx";
import { Trouble } from "./errors.tsx";
import type { Capability } from "./generated/graphql.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { NewRun } from "./new-run.tsx";
import { Restart } from "./restart.tsx";
import { useSelected } from "./selected.ts";
import { archiveMutation, bookmarkMutation } from "./selection.tsx";

const actionsFragment = graphql(`
  fragment Actions on Experiment {
    id
    uniqueName
    isFinished
    isBookmarked
    isArchived
    status
    ...Restartable
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

/** Stops and restarts a run, and shows the outcome. */
export function Actions({ of, offered }: ActionsProps) {
  const run = readFragment(actionsFragment, of);
  const { id, uniqueName, isFinished, isBookmarked, isArchived, status } = run;
  const [stopped, stop] = useMutation(stopMutation);
  const [bookmarked, bookmark] = useMutation(bookmarkMutation);
  const [archived, archive] = useMutation(archiveMutation);
  const { archive: markArchived } = useSelected();
  async function restore() {
    const { data } = await archive({ ids: [id], isArchived: false });
    if (data?.archiveRuns?.results[0]?.run) markArchived([run], false);
  }
  /** Commands on several runs return the failure of one as its result. */
  const failure = [bookmarked.data?.bookmarkRuns?.results[0], archived.data?.archiveRuns?.results[0]].find(
    (result) => result?.message,
  );
  const question = useRef<HTMLDialogElement>(null);
  const isStopping = status === "STOPPING";
  return (
    <div className="actions">
      {!isFinished && (
        <Button isOff={stopped.fetching || isStopping} onClick={() => question.current?.showModal()}>
          Stop
        </Button>
      )}
      <NewRun of={run} offered={offered} />
      <Restart of={run} isFixed={!offered.includes("RESTART_PARAMETERS")} />
      <Button
        isOff={bookmarked.fetching}
        onClick={() => void bookmark({ ids: [id], isBookmarked: !isBookmarked })}
      >
        {isBookmarked ? "Remove bookmark" : "Bookmark"}
      </Button>
      {isArchived && offered.includes("ARCHIVES") && (
        <Button isOff={archived.fetching} onClick={() => void restore()}>
          Restore
        </Button>
      )}
      <p role="status">
        {stopped.fetching || (stopped.data && !isFinished) ? "Stopping…" : stopped.data && "Stopped."}
      </p>
      <Trouble error={stopped.error ?? bookmarked.error ?? archived.error} />
      {failure && (
        <p role="alert" className="trouble">
          {failure.message} <code>{failure.code}</code>
        </p>
      )}
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
