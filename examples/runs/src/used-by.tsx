import { useState } from "react";
import { useQuery } from "urql";
import { hrefOf, projectOf } from "./address.ts";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Status } from "./status.tsx";

const usedByQuery = graphql(`
  query UsedBy($id: ID!) {
    buildJob(id: $id) {
      id
      experiments(first: 20) {
        totalCount
        nodes {
          id
          uniqueName
          ...Status
        }
      }
    }
  }
`);

/** The newest runs of a build job's image, asked for when it is opened. */
export function UsedBy({ build }: { build: string }) {
  const [isOpen, setOpen] = useState(false);
  const [{ data, error, fetching }] = useQuery({
    query: usedByQuery,
    variables: { id: build },
    pause: !isOpen,
  });
  const runs = data?.buildJob?.experiments;
  const more = (runs?.totalCount ?? 0) - (runs?.nodes.length ?? 0);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Runs of this image</summary>
      {!fetching && <Trouble error={error} data={runs} />}
      <ul className="used-by">
        {runs?.nodes.map((run) => (
          <li key={run.id}>
            <a href={hrefOf({ list: projectOf(run.uniqueName), run: run.uniqueName })}>{run.uniqueName}</a>{" "}
            <Status of={run} />
          </li>
        ))}
      </ul>
      {runs?.nodes.length === 0 && <p className="hint">No run uses it.</p>}
      {more > 0 && <p className="hint">And {more} more.</p>}
    </details>
  );
}
