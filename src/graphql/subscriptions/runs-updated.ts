import type { InputShapeFromFields } from "@pothos/core";
import { InputError } from "../../errors.ts";
import { readSlice, type SliceRequest } from "../../rest/session/pagination.ts";
import type { Session } from "../../rest/session/session.ts";
import type { List } from "../../rest/session/page-reader.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { SHARED_TICK_MS, yieldToEventLoop } from "../../util/event-loop.ts";
import { arg, root } from "../core/builder.ts";
import { sliceRequest } from "../core/connection.ts";
import type { StreamContext } from "../core/context.ts";
import { ANY_KIND, findRun, resolveRunsParent, keyOf } from "../core/ids.ts";
import { toResource } from "../core/resource.ts";
import { findMatching, type IsMatch } from "../types/scan.ts";
import { checkGroups, divide, RunFilterInput } from "../types/run-filter.ts";
import { RunKind, runListOf } from "../types/run-list.ts";
import { type RunStatus, statusOf } from "../types/status.ts";
import { eventsOf, readRun, RunUpdate, runSource, updateOf } from "./events.ts";
import { bytesOfList, createReporter, type FirstPage, type ListState, readList } from "./watched-list.ts";

/* The subscriptions `runUpdated` (one run) and `runsUpdated` (the runs of a list). */

async function watchRun({ id }: { readonly id: string }, { live, server, session }: StreamContext) {
  const run = await findRun("id", id, session);
  let sent = 0;
  let status: RunStatus | null = null;
  return live.watch(runSource(run, server), (record, version) => {
    if (version === sent) return null;
    const update = updateOf(run, record, status);
    sent = version;
    status = statusOf(record.last_status);
    return update;
  });
}

root.subscription("runUpdated", {
  type: RunUpdate,
  nullable: false,
  description:
    "Changes of a run of any kind, from its present state until it has finished. A slow reader gets only the latest.",
  args: { id: arg.id({ required: true, description: ANY_KIND }) },
  ...eventsOf(watchRun),
});

const watchedArgs = {
  of: arg.id({
    required: true,
    description: "Global id or name of a project or a group: `ada.mnist`, `ada.mnist.5`.",
  }),
  kind: arg.field({
    type: RunKind,
    required: true,
    defaultValue: "EXPERIMENT",
    description: "Kind of the runs. A group has only experiments.",
  }),
  filter: arg.field({ type: RunFilterInput, description: "Conditions that the runs meet." }),
  query: arg.string({ description: "Filter in the server's own language, in addition to `filter`." }),
  first: arg.int({
    description:
      "Number of runs to watch, the most recently changed. Default: one page of the service. A filter that needs a scan finds runs among the last `gateway.limits.maxPageSize` changed.",
  }),
};

/** Finds the matching rows in time slices. Does not use the scheduler, because a poll belongs to no single operation. */
async function findIn(rows: readonly RunnableRecord[], isMatch: IsMatch): Promise<readonly number[]> {
  await yieldToEventLoop();
  const task = findMatching(rows, isMatch);
  for (let [step, begun] = [task.next(), performance.now()]; ; step = task.next()) {
    if (step.done) return step.value;
    if (performance.now() - begun < SHARED_TICK_MS) continue;
    await yieldToEventLoop();
    begun = performance.now();
  }
}

/** Reads one page of the maximum size and finds the matching runs in it. */
async function scanFirst<At>(
  session: Session,
  list: List<At, RunnableRecord>,
  request: SliceRequest,
  isMatch: IsMatch,
): Promise<FirstPage> {
  let last: RunnableRecord | undefined;
  const find = (rows: readonly RunnableRecord[]) => {
    last = rows.at(-1);
    return findIn(rows, isMatch);
  };
  const page = await readSlice(session, list, request, { maxRows: request.maxSize, find });
  return page.items.length < (request.first ?? request.maxSize) ? { ...page, last } : page;
}

function watchRuns(args: InputShapeFromFields<typeof watchedArgs>, context: StreamContext) {
  const { live, session } = context;
  const { address, group } = resolveRunsParent("of", args.of);
  if (group && args.kind !== "EXPERIMENT")
    throw new InputError(`kind: expected EXPERIMENT for a group, got ${args.kind}`);
  const at = { owner: address.owner, project: address.project };
  const { server } = session;
  const { target, endpoint } = runListOf(args.kind);
  const { kind } = target;
  const { conditions, isMatch } = divide(args.filter, { kind, project: at }, server);
  // In this order, a run that changes moves to the first page.
  const order = server.profile.orders.UPDATED_DESC ? ("UPDATED_DESC" as const) : null;
  const base = server.listQuery({ group: group?.id, order, conditions, query: args.query });
  const list = { endpoint, address: at, base, sortedBy: server.sortKeys({ order }) };
  const request = sliceRequest({ first: args.first }, context);
  const isFiltered = conditions.length > 0 || Boolean(args.query) || isMatch !== null;
  const runAt = (id: string) => toResource(kind, { ...at, id });
  return live.watch(
    {
      key: `runs ${keyOf(runAt(""))} ${JSON.stringify([list.base, request.first, isMatch && args.filter])}`,
      endpoint,
      // Scans of the same list read the same pages, even with different filters.
      batchKey: isMatch && `scan ${keyOf(runAt(""))} ${JSON.stringify(list.base)}`,
      read: async (poll, before: ListState | null, isSeen) => {
        if (!before)
          await Promise.all(checkGroups({ group: group?.id, conditions }, at, { session: poll, server }));
        return readList(
          {
            isFiltered,
            isNewestFirst: order !== null,
            readPage: () =>
              isMatch ? scanFirst(poll, list, request, isMatch) : readSlice(poll, list, request),
            readRun: (id) => readRun(runAt(id), poll),
          },
          before,
          isSeen,
        );
      },
      isFinal: () => false,
      bytesOf: bytesOfList,
    },
    createReporter(isFiltered, runAt),
  );
}

root.subscription("runsUpdated", {
  type: RunUpdate,
  nullable: false,
  description:
    "Runs of a project, or experiments of a group, that appear, change or leave the list, from its first page. Requires `LISTS`.",
  args: watchedArgs,
  ...eventsOf(watchRuns),
});
