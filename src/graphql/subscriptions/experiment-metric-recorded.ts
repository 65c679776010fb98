import { runs } from "../../rest/api/kinds.ts";
import type { MetricRecord as MetricRow } from "../../rest/api/records.ts";
import { endOf, slice } from "../../rest/session/pages.ts";
import { parseCursor } from "../../rest/session/position.ts";
import { markOf } from "../../rest/session/steps.ts";
import { arg, root } from "../core/builder.ts";
import type { StreamContext } from "../core/context.ts";
import { identify, recordIdIn, withId, keyOf } from "../core/ids.ts";
import { Experiment, MetricRecord } from "../core/refs.ts";
import { isFinished } from "../types/status.ts";
import { eventsOf, readRun, type TailArgs } from "./events.ts";

interface Position {
  /** Cursor of the last record that was read; null at the beginning of the list. */
  readonly cursor: string | null;
  /** Whether the end of the list is still to be found: records up to there are not sent. */
  readonly isSeeking: boolean;
  /** Records up to this number are not sent; null for all. */
  readonly afterRecord: number | null;
}

function tailMetrics({ id, after = null }: TailArgs, { live, session, gateway }: StreamContext) {
  const run = identify(Experiment.kind, "id", id);
  const { metrics: endpoint } = runs.experiment.endpoints;
  const list = { endpoint, address: run.address, sortedBy: ["created_at"] };
  const maxSize = gateway.maxPageSize;
  const last = after === null ? null : recordIdIn("MetricRecord", after, run);
  if (after !== null && last === null)
    parseCursor(after, markOf(list), session.server.profile.paging, maxSize);

  return live.tail<Position, { readonly parent: typeof run; readonly record: MetricRow }>(
    {
      key: `metrics ${keyOf(run)}`,
      read: async (tick, { cursor, isSeeking, afterRecord }) => {
        const end = isSeeking && cursor === null ? await endOf(tick, list) : null;
        if (end !== null)
          return { items: [], position: { cursor: end, isSeeking: false, afterRecord }, hasMore: false };
        const request = { first: null, maxSize, after: cursor };
        const { items, endCursor, hasNext } = await slice(tick, list, request);
        const wanted = isSeeking ? [] : items.filter(({ id: record }) => record > (afterRecord ?? -1));
        return {
          items: wanted.map((record) => ({ parent: run, record })),
          position: { cursor: endCursor() ?? cursor, isSeeking: isSeeking && hasNext, afterRecord },
          hasMore: hasNext,
        };
      },
      isFinal: async (tick) => isFinished(await readRun(run, tick)),
    },
    { cursor: last === null ? after : null, isSeeking: after === null, afterRecord: last },
  );
}

root.subscription("experimentMetricRecorded", {
  type: MetricRecord,
  nullable: false,
  description:
    "Metric records of an experiment as they appear, none lost or sent twice. Ends with the experiment.",
  args: {
    ...withId(Experiment),
    after: arg.string({
      description: "`id` of the last known record, or a cursor of its `metrics`. Default: the current end.",
    }),
  },
  ...eventsOf(tailMetrics),
});
