import { useState } from "react";
import { useQuery } from "urql";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { orderOf } from "./sort.ts";

/** The cache merges the page into the list of the group or project: it comes whole, in one piece. */
const moreRunsQuery = graphql(`
  query MoreRuns($of: ID!, $after: String, $order: RunOrdering!, $later: Boolean! = false) {
    entity(id: $of) {
      id
      ... on Group {
        experiments(first: 12, after: $after, order: $order) {
          ...Runs
        }
      }
      ... on Project {
        experiments(first: 12, after: $after, order: $order) {
          ...Runs
        }
      }
    }
  }
`);

interface MoreRunsProps {
  readonly of: string;
  readonly after: string | null;
  /** The metric by which the list is sorted, if it is. */
  readonly sort: string | undefined;
}

/** Reads the page of a list that begins behind a cursor. */
export function MoreRuns({ of, after, sort }: MoreRunsProps) {
  const [wanted, setWanted] = useState<string | null>(null);
  const [{ error, fetching }, read] = useQuery({
    query: moreRunsQuery,
    variables: { of, after: wanted, order: orderOf(sort) },
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
