import { useMutation } from "urql";
import { runHref } from "./address.ts";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { useRead } from "./live.tsx";
import { Button, Loading, Moment, Sheet } from "./parts.tsx";
import { archiveMutation } from "./selection.tsx";
import { Status } from "./status.tsx";

const archiveQuery = graphql(`
  query Archive {
    viewer {
      id
      archives(kind: EXPERIMENT, first: 100) {
        totalCount
        nodes {
          id
          description
          updatedAt
          ... on Experiment {
            uniqueName
            isArchived
            ...Archived
            ...Status
          }
        }
      }
    }
  }
`);

/** The archived runs of all projects, each with a button that restores it. */
export function Archive() {
  const { data, error, fetching, reload } = useRead({
    query: archiveQuery,
    requestPolicy: "cache-and-network",
  });
  const [restored, restore] = useMutation(archiveMutation);
  const archives = data?.viewer?.archives;
  const refused = restored.data?.archiveRuns?.results.find(({ message }) => message);
  return (
    <Sheet name="Archive">
      <section className="panel" aria-labelledby="archive">
        <h2 id="archive">Archive</h2>
        <p className="hint">
          Archived runs of all projects. The server may delete them permanently after some days.
        </p>
        <Trouble error={error ?? restored.error} data={archives} retry={reload} />
        {refused && (
          <p role="alert" className="trouble">
            {refused.message} <code>{refused.code}</code>
          </p>
        )}
        {!archives && fetching && <Loading what="the archive" />}
        {archives?.nodes.length === 0 && <p className="empty">Nothing is archived.</p>}
        <ul className="lines">
          {archives?.nodes.map((run) =>
            "uniqueName" in run ? (
              <li key={run.id}>
                <a href={runHref(run.uniqueName)}>{run.uniqueName}</a>
                <Status of={run} />
                <span className="hint">
                  {run.description} {run.updatedAt && <Moment at={run.updatedAt} />}
                </span>
                {run.isArchived === false ? (
                  <span role="status">Restored.</span>
                ) : (
                  <Button
                    isOff={restored.fetching}
                    aria-label={`Restore ${run.uniqueName}`}
                    onClick={() => void restore({ ids: [run.id], isArchived: false })}
                  >
                    Restore
                  </Button>
                )}
              </li>
            ) : null,
          )}
        </ul>
        {(archives?.totalCount ?? 0) > 100 && (
          <p className="hint">Only the first 100 of {archives?.totalCount} are shown.</p>
        )}
      </section>
    </Sheet>
  );
}
