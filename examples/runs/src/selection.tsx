import { type FormEvent, useRef, useState } from "react";
import { useMutation } from "urql";
import type { Address } from "./address.ts";
import { compareHref } from "./compare-href.ts";
import { Confirm } from "./confirm.tsx";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";

const stopMutation = graphql(`
  mutation StopSelected($ids: [ID!]!) {
    stopRuns(ids: $ids, ifActive: true) {
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
  readonly address: Address;
  readonly onClear: () => void;
  /** Reads the list anew. */
  readonly onChange: () => void;
}

const many = (count: number) => (count === 1 ? "1 run" : `${count} runs`);

/** What can be done with the runs that are selected. What became of each is told. */
export function Selection({ runs, address, onClear, onChange }: SelectionProps) {
  const [stopped, stop] = useMutation(stopMutation);
  const [archived, archive] = useMutation(archiveMutation);
  const [bookmarked, bookmark] = useMutation(bookmarkMutation);
  const [tagged, tag] = useMutation(tagMutation);
  const [done, setDone] = useState("");
  const stopQuestion = useRef<HTMLDialogElement>(null);
  const archiveQuestion = useRef<HTMLDialogElement>(null);
  const ids = runs.map(({ id }) => id);
  const isBusy = [stopped, archived, bookmarked, tagged].some(({ fetching }) => fetching);

  const tell = (what: string, results: readonly unknown[] | undefined) => {
    const count = results?.filter((result) => result !== null).length ?? 0;
    setDone(count > 0 ? `${what} ${many(count)}.` : "");
    onChange();
  };

  async function stopAll() {
    const { data } = await stop({ ids });
    const results = data?.stopRuns?.results;
    const over = results?.filter((result) => result?.isSent === false).length ?? 0;
    tell(
      "Stopped",
      results?.filter((result) => result?.isSent !== false),
    );
    if (over > 0) setDone((before) => `${before} ${many(over)} had finished.`.trim());
  }

  async function tagAll(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const tags = String(new FormData(form).get("tags"))
      .split(/[\s,]+/)
      .filter(Boolean);
    const results: unknown[] = [];
    // One after the other: the present labels of each are read before.
    for (const id of ids) results.push((await tag({ id, tags })).data?.updateExperiment ?? null);
    form.reset();
    tell("Tagged", results);
  }

  const error = [stopped, archived, bookmarked, tagged].find((each) => each.error)?.error;
  const failed = error?.graphQLErrors.flatMap(({ path }) => runs[Number(path?.[2])]?.uniqueName ?? []) ?? [];
  return (
    <section className="selection" aria-label="Selected runs">
      <strong>{many(runs.length)} selected</strong>
      <a
        className="button"
        href={compareHref(
          runs.map(({ uniqueName }) => uniqueName),
          address,
        )}
      >
        Compare
      </a>
      <button disabled={isBusy} onClick={() => stopQuestion.current?.showModal()}>
        Stop
      </button>
      <button
        disabled={isBusy}
        onClick={async () => tell("Bookmarked", (await bookmark({ ids })).data?.bookmarkRuns?.results)}
      >
        Bookmark
      </button>
      <button disabled={isBusy} onClick={() => archiveQuestion.current?.showModal()}>
        Archive
      </button>
      <form onSubmit={tagAll}>
        <input name="tags" aria-label="Tags to add" placeholder="Add tags" required />
        <button disabled={isBusy}>Tag</button>
      </form>
      <button onClick={onClear}>Clear</button>
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
        Those that have finished stay as they are. The others cannot go on afterwards.
      </Confirm>
      <Confirm
        question={archiveQuestion}
        title={`Archive ${many(runs.length)}?`}
        act="Archive them"
        onYes={async () => tell("Archived", (await archive({ ids })).data?.archiveRuns?.results)}
      >
        Lists leave them out. The server stops those that run, and may delete them for good after some days.
      </Confirm>
    </section>
  );
}
