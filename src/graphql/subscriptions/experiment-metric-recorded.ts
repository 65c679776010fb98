import { setImmediate } from "node:timers/promises";
import { estimateHeapBytes } from "../../callers/memory-budget.ts";
import { runs } from "../../rest/api/kinds.ts";
import type { MetricRecord as MetricRow } from "../../rest/api/records.ts";
import { endOf, readSlice } from "../../rest/session/pagination.ts";
import { parseCursor } from "../../rest/session/list-position.ts";
import { listFingerprint } from "../../rest/session/page-reader.ts";
import { arg, root } from "../core/builder.ts";
import type { StreamContext } from "../core/context.ts";
import { resolveId, recordIdIn, withId, keyOf } from "../core/ids.ts";
import { Experiment, MetricRecord } from "../core/refs.ts";
import { METRICS_PAGE } from "../types/metrics.ts";
import { eventsOf, runSource, type TailArgs } from "./events.ts";

interface Position {
  /** Cursor of the last record that was read; null at the beginning of the list. */
  readonly cursor: string | null;
  /** Whether the end of the list must still be found, before which no record is sent. */
  readonly isSeeking: boolean;
  /** The number of the last record that the subscriber already has; null if it has none. */
  readonly afterRecord: number | null;
}

function tailMetrics({ id, after = null }: TailArgs, { live, server, gateway }: StreamContext) {
  const run = resolveId(Experiment.kind, "id", id);
  const { metrics: endpoint } = runs.experiment.endpoints;
  const list = { endpoint, address: run.address, sortedBy: ["created_at"] };
  const maxSize = gateway.maxPageSize;
  const last = after === null ? null : recordIdIn("MetricRecord", after, run);
  if (after !== null && last === null)
    parseCursor(after, listFingerprint(list), server.profile.paging, maxSize);

  return live.tail<Position, { readonly parent: typeof run; readonly record: MetricRow }>(
    {
      key: `metrics ${keyOf(run)}`,
      endpoint: list.endpoint,
      run: runSource(run, server),
      read: async (poll, { cursor, isSeeking, afterRecord }) => {
        const end = isSeeking && cursor === null ? await endOf(poll, list) : null;
        const position = { cursor: end, isSeeking: false, afterRecord };
        if (end !== null) return { items: [], bytes: 0, position, hasMore: false };
        const request = { first: null, maxSize: METRICS_PAGE, after: cursor };
        const { items, endCursor, hasNext } = await readSlice(poll, list, request);
        const wanted = isSeeking ? [] : items.filter(({ id: record }) => record > (afterRecord ?? -1));
        return {
          items: wanted.map((record) => ({ parent: run, record })),
          bytes: await bytesIn(wanted),
          position: { cursor: endCursor() ?? cursor, isSeeking: isSeeking && hasNext, afterRecord },
          hasMore: hasNext,
        };
      },
    },
    { cursor: last === null ? after : null, isSeeking: after === null, afterRecord: last },
  );
}

/** Number of records that are measured in one tick. */
const METRIC_STRIDE = 1_000;

/** Estimated memory of records, in bytes. */
async function bytesIn(records: readonly MetricRow[]): Promise<number> {
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    if (index % METRIC_STRIDE === METRIC_STRIDE - 1) await setImmediate();
    bytes += estimateHeapBytes(record);
  }
  return bytes;
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
