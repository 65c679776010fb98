import { useState } from "react";
import { type Address, hrefOf, isGroup, projectOf, within } from "./address.ts";
import { idsOf, serverOrderOf } from "./columns.tsx";
import { codesOf, Trouble } from "./errors.tsx";
import { needsNames, readFilter } from "./filter.ts";
import { FilterLine, useNames } from "./filter-line.tsx";
import { many } from "./format.ts";
import type { HeadQuery } from "./generated/graphql.ts";
import { graphql } from "./generated/index.ts";
import { LiveBadge, useRead } from "./live.tsx";
import { Loading } from "./parts.tsx";
import { useSelected } from "./selected.ts";
import { Selection } from "./selection.tsx";
import { Status } from "./status.tsx";
import { Table } from "./table.tsx";
import { Toolbar } from "./toolbar.tsx";
import { useRuns, useRunUpdates } from "./use-runs.ts";

const headQuery = graphql(`
  query Head($project: ID!, $filter: RunFilter, $group: ID!, $isGroup: Boolean!) {
    gateway {
      limits {
        maxPageSize
      }
    }
    group(id: $group) @include(if: $isGroup) {
      id
      description
      experimentCounts {
        total
        succeeded
        running
        failed
        stopped
      }
      ...Status
    }
    project(id: $project) {
      id
      csv: experimentsUrl(filter: $filter)
      metrics: metricsUrl(filter: $filter)
    }
  }
`);

export function List({ name, address }: { name: string; address: Address }) {
  const { sort, group, filter: line } = address;
  const [isNaming, setNaming] = useState(false);
  const [isUnfolded, setUnfolded] = useState(false);
  const isNeeded = needsNames(line);
  const names = useNames(name, isNaming || isNeeded);
  const { filter, problems } = readFilter(line, names ?? undefined);
  const head = useRead({
    query: headQuery,
    variables: {
      project: projectOf(name),
      filter: within(name, filter),
      group: name,
      isGroup: isGroup(name),
    },
  });
  const order = group ? null : serverOrderOf(sort);
  const list = useRuns({
    list: name,
    filter,
    order: order ?? { by: { field: "CREATED_AT" }, direction: "DESC" },
    isAll: order === null,
    maxPageSize: head.data?.gateway.limits.maxPageSize,
    isReady: !isNeeded || names !== undefined,
  });
  const reload = () => [list, head].forEach((read) => read.reload());
  const live = useRunUpdates(name, list.runs, () => list.isRead && reload());
  const [selected, select] = useSelected(name);
  const { runs, totalCount, hasMore, isOld, error } = list;
  const isReading = !error && (isOld || list.fetching);
  const { all, shown, metrics } = idsOf(runs, address);
  const isListless = codesOf(error).includes("CAPABILITY_UNAVAILABLE") && !line && !sort;
  const { csv, metrics: values } = head.data?.project ?? {};
  const files = [
    ...(csv ? [["Runs as CSV", csv, `${name}.runs.csv`] as const] : []),
    ...(values ? [["Metrics as CSV", values, `${name}.metrics.csv`] as const] : []),
  ];
  const isShown = new Set(runs.map(({ id }) => id));
  const chosen = [
    ...runs.filter(({ id }) => selected.has(id)),
    ...[...selected].flatMap(([id, uniqueName]) => (isShown.has(id) ? [] : [{ id, uniqueName }])),
  ];
  return (
    <>
      <h2>
        {name} {head.data?.group && <Status of={head.data.group} />}
      </h2>
      <Counts of={head.data?.group} />
      {!isListless && (
        <>
          <button className="fold" aria-expanded={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
            Filter, groups and columns
          </button>
          <div className="tools-of-list" data-open={isUnfolded || undefined}>
            <FilterLine address={address} names={names ?? undefined} onFocus={() => setNaming(true)} />
            <Toolbar address={address} all={all} shown={shown} files={files} />
          </div>
        </>
      )}
      <Trouble error={error ?? head.error} data={list.isRead || head.data?.group} retry={reload} />
      <Selection
        runs={chosen}
        hidden={chosen.filter(({ id }) => !isShown.has(id)).length}
        select={select}
        address={address}
        onChange={reload}
      />
      {runs.length === 0 && isReading && <Loading what={name} />}
      {runs.length === 0 && !isReading && !isOld && list.isRead && (
        <Empty line={problems.length > 0 ? undefined : line} archived={list.archived} />
      )}
      {runs.length > 0 && (
        <>
          <Table
            runs={runs}
            columns={shown}
            isOwnOrder={order === null}
            isOld={isOld}
            address={address}
            selected={selected}
            select={select}
            onEnd={list.readMore}
          />
          <footer>
            <LiveBadge state={live} />
            <p className="hint" role="status">
              {isOld && !error && "Loading… The table still shows the previous runs. "}
              {hasMore
                ? `${runs.length.toLocaleString("en")} of ${totalCount?.toLocaleString("en") ?? "more"} runs are loaded.`
                : `${many(runs.length)}.`}
              {order?.by.metric && ` Runs without ${order.by.metric} are left out.`}
            </p>
            {metrics[0] && (
              <a
                className="button"
                href={hrefOf({ ...address, run: undefined, matters: order?.by.metric ?? metrics[0] })}
              >
                What matters
              </a>
            )}
          </footer>
        </>
      )}
    </>
  );
}

function Empty({ line, archived }: { line: string | undefined; archived: number }) {
  const why = archived > 0 ? `${many(archived)} archived. There are no others.` : "No runs yet.";
  return (
    <p className="empty">
      {line ? `No run matches ${line}.` : why} <a href={hrefOf({ archive: "all" })}>Archive</a>
    </p>
  );
}

/** The description of a group and the number of its runs in each phase. The server's counts can overlap. */
function Counts({ of }: { of: HeadQuery["group"] | undefined }) {
  const { description, experimentCounts: counts } = of ?? {};
  const phases = ["succeeded", "running", "failed", "stopped"] as const;
  const words = phases.flatMap((phase) => (counts?.[phase] ? ` · ${counts[phase]} ${phase}` : []));
  return (
    <p className="hint">
      {description} {counts?.total ? many(counts.total) : ""}
      {words}
    </p>
  );
}
