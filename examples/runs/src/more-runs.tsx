import { useState } from "react";
import { useQuery } from "urql";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";

/** The cache merges the page into the list of the group or project. */
const moreRunsQuery = graphql(`
  query MoreRuns($of: ID!, $after: String) {
    entity(id: $of) {
      id
      ... on Group {
        experiments(first: 12, after: $after, orderBy: CREATED_DESC) {
          ...Runs
        }
      }
      ... on Project {
        experiments(first: 12, after: $after, orderBy: CREATED_DESC) {
          ...Runs
        }
      }
    }
  }
`);

/** Reads the page of a list that begins behind a cursor. */
export function MoreRuns({ of, after }: { of: string; after: string | null }) {
  const [wanted, setWanted] = useState<string | null>(null);
  const [{ error, fetching }, read] = useQuery({
    query: moreRunsQuery,
    variables: { of, after: wanted },
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
