import { useState } from "react";
import { type CombinedError, useClient } from "urql";
import { type Address, compareHref, hrefOf, MOST_COMPARED } from "./address.ts";
import { Trouble } from "./errors.tsx";
import { many } from "./format.ts";
import type { ArchiveRunsMutation } from "./generated/graphql.ts";
import { graphql } from "./generated/index.ts";
import { Confirm } from "./parts.tsx";
import type { Mark, Named } from "./selected.ts";

const stopMutation = graphql(`
  mutation StopRuns($ids: [ID!]!) {
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
  mutation ArchiveRuns($ids: [ID!]!, $isArchived: Boolean!) {
    archiveRuns(ids: $ids, isArchived: $isArchived) {
      results {
        outcome
        code
        message
        run {
          id
        }
      }
    }
  }
`);

interface Answer {
  /** The outcome of each run, in order. */
  readonly results: NonNullable<ArchiveRunsMutation["archiveRuns"]>["results"];
  readonly error: CombinedError | undefined;
}

interface Outcome {
  readonly done: string;
  readonly failed: readonly string[];
  readonly error?: CombinedError | undefined;
}

const NOTHING: Outcome = { done: "", failed: [] };

/** Maximum number of runs that the gateway takes at once. */
const PORTION = 100;

/** Maximum number of names that a question lists. */
const NAMED = 12;

interface SelectionProps {
  readonly runs: readonly Named[];
  /** Number of selected runs that the list does not contain now. */
  readonly hidden: number;
  readonly select: Mark;
  readonly address: Address;
  /** Reads the list again. */
  readonly onChange: () => void;
}

/** Actions on the selected runs, with the outcome of each action. */
export function Selection({ runs, hidden, select, address, onChange }: SelectionProps) {
  const client = useClient();
  const [isBusy, setBusy] = useState(false);
  const [{ done, failed, error }, setOutcome] = useState(NOTHING);
  if (runs.length === 0 && !done && failed.length === 0) return null;

  /** Performs an action on the runs, one portion at a time. Resolves to the runs for which it was done. */
  async function act(word: string, send: (ids: string[]) => Promise<Answer>) {
    setBusy(true);
    let [taken, outcome]: [Named[], Outcome] = [[], NOTHING];
    for (let from = 0; from < runs.length; from += PORTION) {
      const portion = runs.slice(from, from + PORTION);
      const { results, error: trouble } = await send(portion.map(({ id }) => id));
      taken = [...taken, ...portion.filter((_run, at) => results[at]?.outcome === "DONE")];
      const refused = portion.flatMap(({ uniqueName }, at) => {
        const result = results[at];
        // It is no failure if nothing was sent because the run had finished before.
        if (result?.outcome === "DONE" || (result?.outcome === "NOT_SENT" && !result.code)) return [];
        return result?.message ? `${uniqueName} (${result.message})` : uniqueName;
      });
      outcome = {
        done: `${word} ${taken.length === runs.length ? "" : `${taken.length} of `}${many(runs.length)}.`,
        failed: [...outcome.failed, ...refused],
        error: outcome.error ?? trouble,
      };
      setOutcome(outcome);
    }
    setBusy(false);
    onChange();
    return taken;
  }

  const stopAll = () =>
    act("Stopped", async (ids) => {
      const { data, error: trouble } = await client.mutation(stopMutation, { ids });
      return { results: data?.stopRuns?.results ?? [], error: trouble };
    });

  /** Archives the selected runs. They leave the list and the selection. */
  async function archiveAll() {
    const taken = await act("Archived", async (ids) => {
      const { data, error: trouble } = await client.mutation(archiveMutation, { ids, isArchived: true });
      return { results: data?.archiveRuns?.results ?? [], error: trouble };
    });
    select(taken, false);
  }

  const names = runs.map(({ uniqueName }) => uniqueName);
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  const named = `${names.slice(0, NAMED).join(", ")}${more}`;
  return (
    <section className="selection" aria-label="Selected runs">
      {runs.length > 0 && (
        <>
          <strong>{many(runs.length)} selected</strong>
          {hidden > 0 && <span className="hint">{hidden} of them are not in the list below.</span>}
          <a className="button" href={compareHref(names, address)}>
            {runs.length > MOST_COMPARED ? `Compare the first ${MOST_COMPARED}` : "Compare"}
          </a>
          <Confirm act="Stop" of={many(runs.length)} isOff={isBusy} onYes={() => void stopAll()}>
            {named}. Finished runs stay as they are. A stopped run cannot be resumed.
          </Confirm>
          <Confirm act="Archive" of={many(runs.length)} isOff={isBusy} onYes={() => void archiveAll()}>
            {named}. Archived runs can be restored from the archive. The server stops those that are still
            running, and may delete archived runs permanently after some days.
          </Confirm>
        </>
      )}
      <button
        onClick={() => {
          select(runs, false);
          setOutcome(NOTHING);
        }}
      >
        {runs.length > 0 ? "Clear" : "Dismiss"}
      </button>
      <p role="status" className="hint">
        {done} {done.startsWith("Archived") && <a href={hrefOf({ archive: "all" })}>Archive</a>}
      </p>
      {failed.length > 0 && <p>Not done: {failed.join(", ")}</p>}
      <Trouble error={error} />
    </section>
  );
}
