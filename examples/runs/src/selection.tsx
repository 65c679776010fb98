import { type FormEvent, useRef, useState } from "react";
import { type CombinedError, useMutation } from "urql";
import type { Address } from "./address.ts";
import { compareHref, MOST_COMPARED } from "./compare-href.ts";
import { Confirm } from "./confirm.tsx";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { many } from "./many.ts";
import { useSelected } from "./selected.ts";
import { tagsIn } from "./tags.ts";

const stopMutation = graphql(`
  mutation StopSelected($ids: [ID!]!) {
    stopRuns(ids: $ids) {
      results {
        isSent
        run {
          id
          ...Status
        }
      }
    }
  }
`);

const archiveMutation = graphql(`
  mutation ArchiveSelected($ids: [ID!]!) {
    archiveRuns(ids: $ids) {
      results {
        run {
          id
        }
      }
    }
  }
`);

const bookmarkMutation = graphql(`
  mutation BookmarkSelected($ids: [ID!]!) {
    bookmarkRuns(ids: $ids) {
      results {
        run {
          id
        }
      }
    }
  }
`);

const tagMutation = graphql(`
  mutation TagSelected($id: ID!, $tags: [String!]!) {
    updateExperiment(id: $id, input: { addTags: $tags }) {
      experiment {
        id
        tags
      }
    }
  }
`);

interface SelectionProps {
  readonly runs: readonly { readonly id: string; readonly uniqueName: string }[];
  /** How many of them are in the list as it is now. */
  readonly shown: number;
  readonly address: Address;
  /** Reads the list anew. */
  readonly onChange: () => void;
}

/** Runs that the gateway takes at once. */
const PORTION = 100;

/** Names that a question tells; of more, their number. */
const NAMED = 12;

interface Result {
  readonly run?: unknown;
  /** False: it had finished before. */
  readonly isSent?: boolean;
}

interface Answer {
  /** Of each run, in their order; null where nothing was done. */
  readonly results: readonly (Result | null)[] | null | undefined;
  readonly error?: CombinedError | undefined;
}

interface Outcome {
  readonly done: string;
  readonly failed: readonly string[];
  readonly error?: CombinedError | undefined;
}

const NOTHING: Outcome = { done: "", failed: [] };

/** What can be done with the runs that are selected. What became of each is told. */
export function Selection({ runs, shown, address, onChange }: SelectionProps) {
  const [, stop] = useMutation(stopMutation);
  const [, archive] = useMutation(archiveMutation);
  const [, bookmark] = useMutation(bookmarkMutation);
  const [, tag] = useMutation(tagMutation);
  const [isBusy, setBusy] = useState(false);
  const [{ done, failed, error }, setOutcome] = useState(NOTHING);
  const { select } = useSelected();
  const stopQuestion = useRef<HTMLDialogElement>(null);
  const archiveQuestion = useRef<HTMLDialogElement>(null);
  const names = runs.map(({ uniqueName }) => uniqueName);
  if (runs.length === 0 && !done && failed.length === 0) return null;

  /** Does something with all runs, so many at once, one portion after the other. */
  async function act(word: string, most: number, send: (ids: readonly string[]) => Promise<Answer>) {
    setBusy(true);
    const all: { readonly run: (typeof runs)[number]; readonly result: Result | null }[] = [];
    let trouble: CombinedError | undefined;
    for (let from = 0; from < runs.length; from += most) {
      if (from > 0) setOutcome({ ...NOTHING, done: `${word} ${from} of ${many(runs.length)}…` });
      const portion = runs.slice(from, from + most);
      const answer = await send(portion.map(({ id }) => id));
      trouble ??= answer.error;
      all.push(...portion.map((run, at) => ({ run, result: answer.results?.[at] ?? null })));
    }
    const over = all.filter(({ result }) => result?.isSent === false).length;
    const count = all.filter(({ result }) => result && result.isSent !== false).length;
    setOutcome({
      done: [count > 0 && `${word} ${many(count)}.`, over > 0 && `${many(over)} had finished.`]
        .filter(Boolean)
        .join(" "),
      failed: all.flatMap(({ run, result }) => (result ? [] : [run.uniqueName])),
      error: trouble,
    });
    setBusy(false);
    onChange();
    return all.flatMap(({ run, result }) => (result ? [run] : []));
  }

  const stopAll = () =>
    act("Stopped", PORTION, async (ids) => {
      const { data, error: trouble } = await stop({ ids: [...ids] });
      return { results: data?.stopRuns?.results, error: trouble };
    });

  const bookmarkAll = () =>
    act("Bookmarked", PORTION, async (ids) => {
      const { data, error: trouble } = await bookmark({ ids: [...ids] });
      return { results: data?.bookmarkRuns?.results, error: trouble };
    });

  /** Those that are archived leave the list, and what is selected. */
  async function archiveAll() {
    const archived = await act("Archived", PORTION, async (ids) => {
      const { data, error: trouble } = await archive({ ids: [...ids] });
      return { results: data?.archiveRuns?.results, error: trouble };
    });
    select(archived, false);
  }

  async function tagAll(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const tags = tagsIn(String(new FormData(form).get("tags")));
    // One after the other: the present labels of each are read before.
    await act("Tagged", 1, async ([id = ""]) => {
      const { data, error: trouble } = await tag({ id, tags: [...tags] });
      return { results: [data?.updateExperiment ? {} : null], error: trouble };
    });
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
          <button disabled={isBusy} onClick={() => stopQuestion.current?.showModal()}>
            Stop
          </button>
          <button disabled={isBusy} onClick={() => void bookmarkAll()}>
            Bookmark
          </button>
          <button disabled={isBusy} onClick={() => archiveQuestion.current?.showModal()}>
            Archive
          </button>
          <form onSubmit={tagAll}>
            <input name="tags" aria-label="Tags to add" placeholder="Add tags" required />
            <button disabled={isBusy}>Tag</button>
          </form>
        </>
      )}
      <button onClick={clear}>Clear</button>
      <p role="status" className="hint">
        {done}
      </p>
      {failed.length > 0 && <p>Not done: {failed.join(", ")}.</p>}
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
        {named}. Lists leave them out. The server stops those that run, and may delete them for good after
        some days.
      </Confirm>
    </section>
  );
}
