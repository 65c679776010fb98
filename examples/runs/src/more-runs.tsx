import { useState } from "react";
import { useQuery } from "urql";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import type { View } from "./view.ts";

/** The cache merges the page into the list of the group or project: it comes whole, in one piece. */
const moreRunsQuery = graphql(`
  query MoreRuns(
    $of: ID!
    $after: String
    $order: RunOrdering!
    $filter: ExperimentFilter
    $later: Boolean! = false
  ) {
    entity(id: $of) {
      id
      ... on Group {
        experiments(first: 12, after: $after, order: $order, filter: $filter) {
          ...Runs
        }
      }
      ... on Project {
        experiments(first: 12, after: $after, order: $order, filter: $filter) {
          ...Runs
        }
      }
    }
  }
`);

interface MoreRunsProps {
  readonly of: string;
  readonly after: string | null;
  readonly view: View;
}

/** Reads the page of a list that begins behind a cursor. */
export function MoreRuns({ of, after, view }: MoreRunsProps) {
  const [wanted, setWanted] = useState<string | null>(null);
  const [{ error, fetching }, read] = useQuery({
    query: moreRunsQuery,
    variables: { of, after: wanted, ...view },
    pause: wanted === null,
  });
  return (
    <>
      {!fetching && <Trouble error={error} retry={() => read({ requestPolicy: "network-only" })} />}
      {!error && (
        <button disabled={fetching} onClick={() => setWanted(after)}>
          {fetching ? "Loading…" : "Load more"}
        </button>
      )}
    </>
  );
}
