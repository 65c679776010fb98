import { type ReactNode, useState } from "react";
import { useQuery } from "urql";
import { clock } from "./clock.ts";
import { Trouble } from "./errors.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { Status } from "./status.tsx";

const runsFragment = graphql(`
  fragment Runs on ExperimentConnection {
    pageInfo {
      hasNextPage
      endCursor
    }
    nodes {
      id
      uniqueName
      ...Status
      declarations
      loss: lastMetricValue(name: "loss")
      durationSeconds
    }
  }
`);

const moreRunsQuery = graphql(`
  query MoreRuns($group: ID!, $after: String) {
    group(id: $group) {
      id
      experiments(first: 12, after: $after, orderBy: CREATED_DESC) {
        ...Runs
      }
    }
  }
`);

/** What each page of the table needs to know. */
interface Table {
  readonly group: string;
  /** The declarations that have a column. */
  readonly parameters: readonly string[];
  readonly selected: string | undefined;
  readonly select: (run: string) => void;
}

/** `declarations` is JSON of any shape. If it is an object, its properties are the parameters. */
export const parametersOf = (declarations: unknown) => Object(declarations) as Record<string, unknown>;

/** The runs of one page, and below them those of the next once they are wanted. */
export function Runs({ page, table }: { page: FragmentType<typeof runsFragment>; table: Table }) {
  const [more, setMore] = useState(false);
  const { nodes, pageInfo } = readFragment(runsFragment, page);
  return (
    <>
      <tbody>
        {nodes.map((run) => (
          <tr key={run.id} aria-current={run.id === table.selected}>
            <td>
              <button onClick={() => table.select(run.id)}>{run.uniqueName}</button>
            </td>
            <td>
              <Status of={run} />
            </td>
            {table.parameters.map((name) => (
              <td key={name}>{String(parametersOf(run.declarations)[name] ?? "–")}</td>
            ))}
            <td>{run.loss?.toFixed(4) ?? "–"}</td>
            <td>{clock(run.durationSeconds)}</td>
          </tr>
        ))}
      </tbody>
      {more && <MoreRuns after={pageInfo.endCursor} table={table} />}
      {pageInfo.hasNextPage && !more && (
        <Below>
          <button onClick={() => setMore(true)}>Load more</button>
        </Below>
      )}
    </>
  );
}

function MoreRuns({ after, table }: { after: string | null; table: Table }) {
  const [{ data, error, fetching }] = useQuery({
    query: moreRunsQuery,
    variables: { group: table.group, after },
  });
  const page = data?.group?.experiments;
  return (
    <>
      {page && <Runs page={page} table={table} />}
      {fetching && <Below>Loading…</Below>}
      {error && (
        <Below>
          <Trouble error={error} data={page} />
        </Below>
      )}
    </>
  );
}

/** A line across the table. */
const Below = ({ children }: { children: ReactNode }) => (
  <tbody className="below">
    <tr>
      <td colSpan={99}>{children}</td>
    </tr>
  </tbody>
);
