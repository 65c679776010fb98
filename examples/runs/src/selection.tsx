import { type FormEvent, useRef, useState } from "react";
import { type CombinedError, useMutation } from "urql";
import type { Address } from "./address.ts";
import { compareHref, MOST_COMPARED } from "./compare-href.ts";
import { Button } from "./button.tsx";
import { Confirm } from "./confirm.tsx";
import { Trouble } from "./errors.tsx";
import type { CommandOutcome, UpdateRunInput } from "./generated/graphql.ts";
import { graphql } from "./generated/index.ts";
import { many } from "./many.ts";
import { useSelected } from "./selected.ts";
import { tagsIn } from "./tags.ts";

const stopMutation = graphql(`
  mutation StopSelected($ids: [ID!]!) {
    stopRuns(ids: $ids) {
      results {
        outcome
        code
        message
        run {
          id
          ...Status
        }
      }
    }
  }
`);

export const archiveMutation = graphql(`
  mutation ArchiveSelected($ids: [ID!]!, $isArchived: Boolean!) {
    archiveRuns(ids: $ids, isArchived: $isArchived) {
      results {
        outcome
        code
        message
        run {
          id
          isArchived
        }
      }
    }
  }
`);

export const bookmarkMutation = graphql(`
  mutation BookmarkSelected($ids: [ID!]!, $isBookmarked: Boolean!) {
    bookmarkRuns(ids: $ids, isBookmarked: $isBookmarked) {
      results {
        outcome
        code
        message
        run {
          id
          isBookmarked
        }
      }
    }
  }
`);

const tagMutation = graphql(`
  mutation TagSelected($id: ID!, $input: UpdateRunInput!) {
    updateExperiment(id: $id, input: $input) {
      experiment {
        id
        tags
      }
    }
  }
`);

interface Chosen {
  readonly id: string;
  readonly uniqueName: string;
  /** Values of the run in the list, if it shows the run. */
  readonly isBookmarked?: boolean | null;
  readonly tags?: readonly string[] | null;
}

interface SelectionProps {
  readonly runs: readonly Chosen[];
  /** How many of the selected runs are in the list as it is now. */
  readonly shown: number;
  readonly address: Address;
  /** Reads the list again. */
  readonly onChange: () => void;
}

/** Runs that the gateway takes at once. */
const PORTION = 100;

/** Names that a question lists; of more, their number. */
const NAMED = 12;

interface Payload {
  readonly results: readonly {
    readonly outcome: CommandOutcome;
    readonly code?: string | null;
    readonly message?: string | null;
  }[];
}

interface Answer {
  /** The outcome of each run, in order, and its record, which is null where there is an error. */
  readonly payload: Payload | null | undefined;
  readonly error?: CombinedError | undefined;
}

interface Outcome {
  readonly done: string;
  readonly failed: readonly string[];
  readonly error?: CombinedError | undefined;
  /** Takes it back, where that can be done. */
  readonly undo?: (() => Promise<unknown>) | undefined;
}

const NOTHING: Outcome = { done: "", failed: [] };

type Became = "done" | "over" | "failed";

/** The outcome of one run. `over`: it had finished before, so its record is returned and nothing was sent. */
function becameOf(payload: Answer["payload"], at: number): Became {
  const result = payload?.results[at];
  if (result?.outcome === "DONE") return "done";
  return result?.outcome === "NOT_SENT" && !result.code ? "over" : "failed";
}

type Send = (ids: readonly string[]) => Promise<Answer>;

/** Actions on the selected runs. The outcome of each is shown. */
export function Selection({ runs, shown, address, onChange }: SelectionProps) {
  const [, stop] = useMutation(stopMutation);
  const [, archive] = useMutation(archiveMutation);
  const [, bookmark] = useMutation(bookmarkMutation);
  const [, tag] = useMutation(tagMutation);
  const [isBusy, setBusy] = useState(false);
  const [{ done, failed, error, undo }, setOutcome] = useState(NOTHING);
  const { select, archive: markArchived } = useSelected();
  const stopQuestion = useRef<HTMLDialogElement>(null);
  const archiveQuestion = useRef<HTMLDialogElement>(null);
  const names = runs.map(({ uniqueName }) => uniqueName);
  if (runs.length === 0 && !done && failed.length === 0) return null;

  /** Does something with some runs, at most `most` at once, one portion after the other. */
  async function act(
    word: string,
    most: number,
    send: Send,
    {
      to = runs,
      back,
    }: { to?: readonly Chosen[]; back?: (done: readonly Chosen[]) => Promise<unknown> } = {},
  ) {
    setBusy(true);
    const all: { readonly run: Chosen; readonly became: Became; readonly why: string }[] = [];
    let trouble: CombinedError | undefined;
    for (let from = 0; from < to.length; from += most) {
      if (from > 0) setOutcome({ ...NOTHING, done: `${word} ${from} of ${many(to.length)}…` });
      const portion = to.slice(from, from + most);
      const answer = await send(portion.map(({ id }) => id));
      trouble ??= answer.error;
      all.push(
        ...portion.map((run, at) => ({
          run,
          became: becameOf(answer.payload, at),
          why: answer.payload?.results[at]?.message ?? "",
        })),
      );
    }
    const thatAre = (which: Became) => all.flatMap(({ run, became }) => (became === which ? [run] : []));
    const taken = thatAre("done");
    const [count, over] = [taken.length, thatAre("over").length];
    setOutcome({
      undo: back && taken.length > 0 ? () => back(taken) : undefined,
      done: [count > 0 && `${word} ${many(count)}.`, over > 0 && `${many(over)} had finished.`]
        .filter(Boolean)
        .join(" "),
      failed: all.flatMap(({ run: { uniqueName }, became, why }) =>
        became === "failed" ? [why ? `${uniqueName} (${why})` : uniqueName] : [],
      ),
      error: trouble,
    });
    setBusy(false);
    onChange();
    return taken;
  }

  const stopAll = () =>
    act("Stopped", PORTION, async (ids) => {
      const { data, error: trouble } = await stop({ ids: [...ids] });
      return { payload: data?.stopRuns, error: trouble };
    });

  const bookmarkSend =
    (isBookmarked: boolean): Send =>
    async (ids) => {
      const { data, error: trouble } = await bookmark({ ids: [...ids], isBookmarked });
      return { payload: data?.bookmarkRuns, error: trouble };
    };
  const archiveSend =
    (isArchived: boolean): Send =>
    async (ids) => {
      const { data, error: trouble } = await archive({ ids: [...ids], isArchived });
      return { payload: data?.archiveRuns, error: trouble };
    };
  const tagSend =
    (input: UpdateRunInput): Send =>
    async ([id = ""]) => {
      const { data, error: trouble } = await tag({ id, input });
      return { payload: data?.updateExperiment && { results: [{ outcome: "DONE" }] }, error: trouble };
    };

  /** Bookmarks the runs. The way back leaves runs alone that had been bookmarked before. */
  const bookmarkAll = () =>
    act("Bookmarked", PORTION, bookmarkSend(true), {
      back: (bookmarked) =>
        act("Removed the bookmarks of", PORTION, bookmarkSend(false), {
          to: bookmarked.filter((run) => !run.isBookmarked),
        }),
    });

  /** Archives the runs, which leave the list and the selection. */
  async function archiveAll() {
    const restore = async (archived: readonly Chosen[]) =>
      markArchived(await act("Restored", PORTION, archiveSend(false), { to: archived }), false);
    const taken = await act("Archived", PORTION, archiveSend(true), { back: restore });
    markArchived(taken, true);
    select(taken, false);
  }

  /** By the button that was pressed: the tags are added, or removed. */
  async function tagAll(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const tags = [...tagsIn(String(new FormData(form).get("tags")))];
    const { nativeEvent } = event;
    const isRemoved =
      nativeEvent instanceof SubmitEvent && nativeEvent.submitter?.getAttribute("value") === "remove";
    const [add, remove] = [tagSend({ addTags: tags }), tagSend({ removeTags: tags })];
    // One after the other: the present labels of each are read before.
    await act(isRemoved ? "Untagged" : "Tagged", 1, isRemoved ? remove : add);
    form.reset();
  }

  function clear() {
    select(runs, false);
    setOutcome(NOTHING);
  }

  const hidden = runs.length - shown;
  const named =
    names.length > NAMED
      ? `${names.slice(0, NAMED).join(", ")} and ${names.length - NAMED} more`
      : names.join(", ");
  return (
    <section className="selection" aria-label="Selected runs">
      {runs.length > 0 && (
        <>
          <strong>{many(runs.length)} selected</strong>
          {hidden > 0 && (
            <span className="hint">
              {hidden} of them {hidden === 1 ? "is" : "are"} not in the list below.
            </span>
          )}
          <a className="button" href={compareHref(names, address)}>
            {runs.length > MOST_COMPARED ? `Compare the first ${MOST_COMPARED}` : "Compare"}
          </a>
          <Button isOff={isBusy} onClick={() => stopQuestion.current?.showModal()}>
            Stop
          </Button>
          <Button isOff={isBusy} onClick={() => void bookmarkAll()}>
            Bookmark
          </Button>
          <Button isOff={isBusy} onClick={() => archiveQuestion.current?.showModal()}>
            Archive
          </Button>
          <form onSubmit={tagAll}>
            <input name="tags" aria-label="Tags" placeholder="Tags" required />
            <Button isOff={isBusy}>Tag</Button>
            <Button isOff={isBusy} value="remove">
              Untag
            </Button>
          </form>
        </>
      )}
      <button onClick={clear}>Clear</button>
      <p role="status" className="hint">
        {done}
      </p>
      {undo && (
        <Button isOff={isBusy} onClick={() => void undo()}>
          Undo
        </Button>
      )}
      {failed.length > 0 && <p>Not done: {failed.join(", ")}</p>}
      <Trouble error={error} />
      <Confirm
        question={stopQuestion}
        title={`Stop ${many(runs.length)}?`}
        act="Stop them"
        onYes={() => void stopAll()}
      >
        {named}. Those that have finished stay as they are. The others cannot go on afterwards.
      </Confirm>
      <Confirm
        question={archiveQuestion}
        title={`Archive ${many(runs.length)}?`}
        act="Archive them"
        onYes={() => void archiveAll()}
      >
        {named}. Lists leave them out until they are restored. The server stops those that run, and may delete
        them for good after some days.
      </Confirm>
    </section>
  );
}
