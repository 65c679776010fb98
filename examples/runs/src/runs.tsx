import type { KeyboardEvent } from "react";
import { type Address, hrefOf } from "./address.ts";
import { Columns } from "./columns.tsx";
import { compareHref, MOST_COMPARED } from "./compare-href.ts";
import { inDigits } from "./curve.ts";
import { Duration } from "./duration.tsx";
import { Moment } from "./fact.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import type { RunOrder } from "./generated/graphql.ts";
import { Image } from "./image.tsx";
import { LiveBadge } from "./live-badge.tsx";
import { many } from "./many.ts";
import { MoreRuns } from "./more-runs.tsx";
import { Moving } from "./moving.tsx";
import { Name } from "./name.tsx";
import { parametersOf, textOf } from "./parameters.ts";
import { useSelected } from "./selected.ts";
import { Selection } from "./selection.tsx";
import { SortBy } from "./sort-by.tsx";
import { directionOf, leftOutOf, orderInWords } from "./sort.ts";
import { Status } from "./status.tsx";
import { conditionsIn, hiddenIn, viewOf } from "./view.ts";
import { useRunUpdates } from "./watch-runs.ts";

const runRowFragment = graphql(`
  fragment RunRow on Experiment {
    id
    uniqueName
    createdAt
    startedAt
    finishedAt
    updatedAt
    isFinished
    tags
    declarations {
      name
      value
    }
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
  /** The order of these pages: until others are read, not always that of the address. */
  readonly order: RunOrder;
  readonly address: Address;
  /** Reads the list anew. */
  readonly onChange: () => void;
}

/** The column of the tags, where a run has some. */
const TAGS = "tags";

/** The column of the date by which a list is sorted. */
const DATES = [
  { field: "CREATED_AT", word: "created", key: "createdAt" },
  { field: "UPDATED_AT", word: "last changed", key: "updatedAt" },
  { field: "STARTED_AT", word: "started", key: "startedAt" },
  { field: "FINISHED_AT", word: "finished", key: "finishedAt" },
] as const;

const namesIn = (records: readonly object[]) => [
  ...new Set(records.flatMap((record) => Object.keys(record))),
];

/** Runs as a table with a column for each parameter and each metric. */
export function Runs({ of, page, order, address, onChange }: RunsProps) {
  const { nodes, pageInfo, totalCount } = readFragment(runsFragment, page);
  const runs = readFragment(runRowFragment, nodes).map((run, index) => ({
    ...run,
    row: nodes[index] ?? null,
    parameters: parametersOf(run.declarations),
    metrics: Object.fromEntries((run.latestMetrics ?? []).map(({ name, value }) => [name, value])),
  }));
  const { list = "" } = address;
  const view = viewOf(address);
  const sort = order.metric ?? undefined;
  const isNewestFirst = order.field === "CREATED_AT" && order.direction === "DESC" && !view.filter;
  const live = useRunUpdates({ of, runs, isNewestFirst, onChange });
  const { selected, select } = useSelected();
  const shown = runs.filter(({ id }) => selected.has(id));
  const isShown = new Set(shown.map(({ id }) => id));
  const chosen = [
    ...shown,
    ...[...selected].flatMap(([id, uniqueName]) => (isShown.has(id) ? [] : [{ id, uniqueName }])),
  ];
  const selection = <Selection runs={chosen} shown={shown.length} address={address} onChange={onChange} />;
  if (runs.length === 0) {
    return (
      <>
        {selection}
        {view.filter && <p className="empty">No run matches {conditionsIn(address).join(", ")}.</p>}
        {!view.filter && <p className="empty">No runs yet.</p>}
      </>
    );
  }

  const hidden = hiddenIn(address);
  const allParameters = namesIn(runs.map((run) => run.parameters));
  const allMetrics = namesIn(runs.map((run) => run.metrics)).toSorted();
  const parameters = allParameters.filter((name) => !hidden.includes(name));
  const metrics = allMetrics.filter((name) => !hidden.includes(name));
  const isTagged = runs.some(({ tags }) => tags && tags.length > 0);
  const hasTags = isTagged && !hidden.includes(TAGS);
  const when = address.sort ? DATES.find(({ field }) => field === order.field) : undefined;
  const valueOf = (run: (typeof runs)[number], metric: string) => run.metrics[metric] ?? null;
  const [first] = runs;
  const best = sort && first && valueOf(first, sort) !== null ? first.id : null;
  return (
    <>
      <Columns names={[...allParameters, ...allMetrics, ...(isTagged ? [TAGS] : [])]} address={address} />
      {selection}
      <div className="scroll">
        <table onKeyDown={walk}>
          <caption className="visually-hidden">Runs of {list}</caption>
          <thead>
            <tr>
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label="Select all loaded runs"
                  checked={shown.length === runs.length}
                  onChange={({ target }) => select(runs, target.checked)}
                />
                run
              </th>
              <th scope="col">status</th>
              {parameters.map((name) => (
                <th key={name} scope="col" className="parameter" title={name}>
                  {name}
                </th>
              ))}
              {metrics.map((name) => (
                <th
                  key={name}
                  scope="col"
                  className="metric"
                  aria-sort={name === sort ? directionOf(order) : undefined}
                >
                  <SortBy metric={name} address={address} />
                </th>
              ))}
              {hasTags && (
                <th scope="col" className="parameter">
                  {TAGS}
                </th>
              )}
              {when && (
                <th scope="col" aria-sort={directionOf(order)}>
                  {when.word}
                </th>
              )}
              <th scope="col">duration</th>
              <th scope="col" className="image">
                image
              </th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.id} className={run.id === best ? "best" : undefined}>
                <th scope="row">
                  <input
                    type="checkbox"
                    aria-label={`Select ${run.uniqueName}`}
                    checked={selected.has(run.id)}
                    onChange={({ target }) => select([run], target.checked)}
                  />
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
                  <td key={name} className="parameter" title={textOf(run.parameters[name])}>
                    {textOf(run.parameters[name])}
                  </td>
                ))}
                {metrics.map((name) => (
                  <td key={name} data-sorted={name === sort || undefined}>
                    <Moving value={inDigits(valueOf(run, name))} />
                  </td>
                ))}
                {hasTags && (
                  <td className="parameter" title={run.tags?.join(", ")}>
                    {run.tags?.join(", ")}
                  </td>
                )}
                {when && <td>{run[when.key] ? <Moment at={run[when.key] ?? ""} /> : "–"}</td>}
                <td>
                  <Duration of={run} />
                </td>
                <td className="image">{run.row && <Image of={run.row} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <footer>
        <LiveBadge state={live} />
        <p className="hint" role="status">
          {orderInWords(order)}
          {pageInfo.hasNextPage
            ? `${runs.length} of ${totalCount ?? "more"} runs are loaded.`
            : `${many(runs.length)}.`}
          {leftOutOf(order)}
        </p>
        {runs.length > 1 && (
          <a
            className="button"
            href={compareHref(
              runs.map(({ uniqueName }) => uniqueName),
              address,
            )}
          >
            {runs.length > MOST_COMPARED
              ? `Compare the first ${MOST_COMPARED}`
              : `Compare these ${runs.length}`}
          </a>
        )}
        {pageInfo.hasNextPage && (
          <MoreRuns
            key={JSON.stringify(view)}
            of={of}
            after={pageInfo.endCursor}
            loaded={runs.length}
            view={view}
          />
        )}
      </footer>
    </>
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
