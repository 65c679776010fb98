import { useState } from "react";
import { useQuery } from "urql";
import { Button } from "./button.tsx";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import type { View } from "./view.ts";

/** The cache merges the page into the list of the group or project: it comes whole, in one piece. */
const moreRunsQuery = graphql(`
  query MoreRuns(
    $of: ID!
    $first: Int!
    $after: String
    $order: RunOrder!
    $filter: RunFilter
    $values: Boolean!
    $later: Boolean! = false
  ) {
    entity(id: $of) {
      id
      ... on Group {
        experiments(first: $first, after: $after, order: $order, filter: $filter) {
          ...Runs
        }
      }
      ... on Project {
        experiments(first: $first, after: $after, order: $order, filter: $filter) {
          ...Runs
        }
      }
    }
  }
`);

interface MoreRunsProps {
  readonly of: string;
  readonly after: string | null;
  /** How many runs are loaded. */
  readonly loaded: number;
  readonly view: View;
}

/** The length of a page, while the next one is as long as all before it: 500 runs are eight pages. */
const MOST = 100;

/** Reads the page of a list that begins behind a cursor. */
export function MoreRuns({ of, after, loaded, view }: MoreRunsProps) {
  const [wanted, setWanted] = useState<{ readonly first: number; readonly after: string | null } | null>(
    null,
  );
  const [{ error, fetching }, read] = useQuery({
    query: moreRunsQuery,
    variables: { of, first: wanted?.first ?? MOST, after: wanted?.after ?? null, ...view },
    pause: wanted === null,
  });
  const load = () =>
    error ? read({ requestPolicy: "network-only" }) : setWanted({ first: Math.min(MOST, loaded), after });
  return (
    <>
      {!fetching && <Trouble error={error} />}
      {/* One button for both, because it has the focus. */}
      <Button isOff={fetching} onClick={load}>
        {fetching && "Loading…"}
        {!fetching && (error ? "Try again" : "Load more")}
      </Button>
    </>
  );
}
