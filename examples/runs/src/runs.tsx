import type { KeyboardEvent } from "react";
import { type Address, hrefOf } from "./address.ts";
import { compareHref } from "./compare-href.ts";
import { Duration } from "./duration.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { Image } from "./image.tsx";
import { LiveBadge } from "./live-badge.tsx";
import { MoreRuns } from "./more-runs.tsx";
import { Moving } from "./moving.tsx";
import { Name } from "./name.tsx";
import { parametersOf } from "./parameters.ts";
import { directionOf, leftOutOf } from "./sort.ts";
import { Status } from "./status.tsx";
import { useRunUpdates } from "./watch-runs.ts";

const runRowFragment = graphql(`
  fragment RunRow on Experiment {
    id
    uniqueName
    createdAt
    startedAt
    isFinished
    declarations
    latestMetrics {
      name
      value
    }
    ...Status
    ...Duration
  }
`);

const runsFragment = graphql(`
  fragment Runs on ExperimentConnection {
    totalCount
    pageInfo {
      hasNextPage
      endCursor
    }
    nodes {
      id
      ...RunRow
      ...Image @defer(if: $later)
    }
  }
`);

interface RunsProps {
  /** Global id of the group or project. */
  readonly of: string;
  /** The pages that were read so far, as one. */
  readonly page: FragmentType<typeof runsFragment>;
  /** The metric by which these pages are sorted: until others are read, not always that of the address. */
  readonly sort: string | undefined;
  readonly address: Address;
  /** Reads the list anew. */
  readonly onChange: () => void;
}

const namesIn = (records: readonly object[]) => [
  ...new Set(records.flatMap((record) => Object.keys(record))),
];

/** Runs as a table with a column for each parameter and each metric. */
export function Runs({ of, page, sort, address, onChange }: RunsProps) {
  const { nodes, pageInfo, totalCount } = readFragment(runsFragment, page);
  const runs = readFragment(runRowFragment, nodes).map((run, index) => ({
    ...run,
    row: nodes[index] ?? null,
    parameters: parametersOf(run.declarations),
    metrics: Object.fromEntries((run.latestMetrics ?? []).map(({ name, value }) => [name, value])),
  }));
  const { list = "" } = address;
  const live = useRunUpdates({ of, runs, isNewestFirst: !sort, onChange });
  if (runs.length === 0)
    return sort ? <NoneSorted by={sort} address={address} /> : <p className="empty">No runs yet.</p>;

  const parameters = namesIn(runs.map((run) => run.parameters));
  const metrics = namesIn(runs.map((run) => run.metrics)).toSorted();
  const valueOf = (run: (typeof runs)[number], metric: string) => run.metrics[metric] ?? null;
  const [first] = runs;
  const best = sort && first && valueOf(first, sort) !== null ? first.id : null;
  return (
    <>
      <div className="scroll">
        <table onKeyDown={walk}>
          <caption className="visually-hidden">Runs of {list}</caption>
          <thead>
            <tr>
              <th scope="col">run</th>
              <th scope="col">status</th>
              {parameters.map((name) => (
                <th key={name} scope="col" className="parameter">
                  {name}
                </th>
              ))}
              {metrics.map((name) => (
                <th key={name} scope="col" aria-sort={name === sort ? directionOf(name) : undefined}>
                  <SortBy metric={name} address={address} />
                </th>
              ))}
              <th scope="col">duration</th>
              <th scope="col">image</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.id} className={run.id === best ? "best" : undefined}>
                <th scope="row">
                  <a
                    href={hrefOf({ ...address, run: run.uniqueName })}
                    aria-label={run.uniqueName}
                    aria-current={run.uniqueName === address.run ? "true" : undefined}
                  >
                    <Name of={run.uniqueName} within={list} />
                  </a>
                </th>
                <td>
                  <Status of={run} />
                </td>
                {parameters.map((name) => (
                  <td key={name} className="parameter">
                    {String(run.parameters[name] ?? "–")}
                  </td>
                ))}
                {metrics.map((name) => (
                  <td key={name} data-sorted={name === sort || undefined}>
                    <Moving value={valueOf(run, name)?.toFixed(4) ?? "–"} />
                  </td>
                ))}
                <td>
                  <Duration of={run} />
                </td>
                <td>{run.row && <Image of={run.row} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <footer>
        <LiveBadge state={live} />
        <p className="hint" role="status">
          {sort && `Sorted by ${sort}, best first. `}
          {pageInfo.hasNextPage
            ? `${runs.length} of ${totalCount ?? "more"} runs are loaded.`
            : `${runs.length} runs.`}
          {sort && leftOutOf(sort)}
        </p>
        {runs.length > 1 && (
          <a
            className="button"
            href={compareHref(
              runs.map(({ uniqueName }) => uniqueName),
              address,
            )}
          >
            Compare
          </a>
        )}
        {pageInfo.hasNextPage && <MoreRuns key={sort} of={of} after={pageInfo.endCursor} sort={sort} />}
      </footer>
    </>
  );
}

/** Sorts by a metric; once it is sorted, returns to the order of creation. */
function SortBy({ metric, address }: { metric: string; address: Address }) {
  const isSorted = metric === address.sort;
  return (
    <a
      className="sort"
      href={hrefOf({ ...address, sort: isSorted ? undefined : metric })}
      title={isSorted ? "Newest first" : `Best ${metric} first`}
    >
      {metric}
    </a>
  );
}

function NoneSorted({ by, address }: { by: string; address: Address }) {
  return (
    <p className="empty">
      No run has {by} yet. <a href={hrefOf({ ...address, sort: undefined })}>Newest first</a>
    </p>
  );
}

/** The arrow keys go from run to run. */
function walk(event: KeyboardEvent<HTMLTableElement>) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("tbody a")];
  const at = links.findIndex((link) => link === document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  links[at + step]?.focus();
}
