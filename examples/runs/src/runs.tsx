import type { KeyboardEvent } from "react";
import { type Address, hrefOf } from "./address.ts";
import { Columns } from "./columns.tsx";
import { compareHref, MOST_COMPARED } from "./compare-href.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import type { RunOrder } from "./generated/graphql.ts";
import { LiveBadge } from "./live-badge.tsx";
import { many } from "./many.ts";
import { MoreRuns } from "./more-runs.tsx";
import { Name } from "./name.tsx";
import { columnsOf, ownValueOf, rowsOf } from "./rows.tsx";
import { useSelected } from "./selected.ts";
import { Selection } from "./selection.tsx";
import { SortBy } from "./sort-by.tsx";
import { leftOutOf, orderInWords, ownOrderIn, sortedBy, wordsOf } from "./sort.ts";
import { conditionsIn, viewOf } from "./view.ts";
import { useRunUpdates } from "./watch-runs.ts";

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
      ...RunValues @include(if: $values) @defer(if: $later)
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
  /** Whether other pages were asked for and have not come yet. */
  readonly isOld: boolean;
  readonly address: Address;
  /** Reads the list again. */
  readonly onChange: () => void;
}

/** Runs as a table with a column for each parameter and each metric. */
export function Runs({ of, page, order, isOld, address, onChange }: RunsProps) {
  const { nodes, pageInfo, totalCount } = readFragment(runsFragment, page);
  const { selected, select, archived } = useSelected();
  const read = rowsOf(nodes).filter(({ id }) => !archived.has(id));
  const own = ownOrderIn(address.sort);
  const runs = own ? sortedBy(read, (run) => ownValueOf(run, own), own.isDescending) : read;
  const { list = "" } = address;
  const view = viewOf(address);
  const sort = order.by.metric ?? undefined;
  const isNewestFirst = order.by.field === "CREATED_AT" && order.direction === "DESC" && !view.filter;
  const live = useRunUpdates({ of, runs, isNewestFirst, onChange });
  const shown = runs.filter(({ id }) => selected.has(id));
  const isShown = new Set(shown.map(({ id }) => id));
  const chosen = [
    ...shown,
    ...[...selected].flatMap(([id, uniqueName]) => (isShown.has(id) ? [] : [{ id, uniqueName }])),
  ];
  const selection = <Selection runs={chosen} shown={shown.length} address={address} onChange={onChange} />;
  if (runs.length === 0) {
    // The keys keep what became of those that were selected, such as the last that are archived.
    return (
      <>
        <div key="table" className="long">
          {selection}
        </div>
        {view.filter && <p className="empty">No run matches {conditionsIn(address).join(", ")}.</p>}
        {!view.filter && <p className="empty">No runs yet.</p>}
      </>
    );
  }

  const { columns, metrics, names } = columnsOf(runs, order, address);
  const [first] = runs;
  const hasMore = pageInfo.hasNextPage && runs.length < (totalCount ?? Infinity);
  const best = sort && typeof first?.metrics[sort] === "number" ? first.id : null;
  return (
    <>
      <Columns names={names} address={address} />
      <div key="table" className="long">
        {selection}
        <p role="status" className="hint sorting">
          {isOld && "Loading… These are the runs from before."}
        </p>
        <div className="scroll">
          <table onKeyDown={walk} aria-busy={isOld}>
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
                {columns.map(({ label, className, by, direction }) => (
                  <th key={label} scope="col" className={className} title={label} aria-sort={direction}>
                    {by ? <SortBy by={by} label={label} address={address} /> : label}
                  </th>
                ))}
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
                    {run.isBookmarked && (
                      <span className="bookmark" role="img" aria-label="bookmarked" title="bookmarked">
                        ★
                      </span>
                    )}
                  </th>
                  {columns.map(({ label, className, cell, title, direction }) => (
                    <td
                      key={label}
                      className={className}
                      title={title?.(run)}
                      data-sorted={direction !== undefined || undefined}
                    >
                      {cell(run)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
      <footer>
        <LiveBadge state={live} />
        <p className="hint" role="status">
          {own ? `${wordsOf(address.sort ?? "")}, of the runs that are loaded. ` : orderInWords(order)}
          {hasMore ? `${runs.length} of ${totalCount ?? "more"} runs are loaded.` : `${many(runs.length)}.`}
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
        {metrics.length > 0 && (
          <a className="button" href={hrefOf({ ...address, run: undefined, matters: sort ?? metrics[0] })}>
            What matters
          </a>
        )}
        {hasMore && (
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
