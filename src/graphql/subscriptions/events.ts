import { estimateHeapBytes } from "../../callers/memory-budget.ts";
import type { StateSource } from "../../live/state-poll.ts";
import { runs } from "../../rest/api/kinds.ts";
import { KNOWN_KEYS, type RunnableRecord, type TrackedRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import type { Server } from "../../rest/api/server.ts";
import type { Session } from "../../rest/session/session.ts";
import type { LiveStream, StreamEvent } from "../../live/stream.ts";
import { type Resource, toResource } from "../core/resource.ts";
import { computedFrom, enumType, exposed, exposedOrNull, objectType } from "../core/builder.ts";
import { keyOf } from "../core/ids.ts";
import { Run } from "../core/refs.ts";
import { isFinished, type RunStatus, RunStatusEnum } from "../types/status.ts";
import type { Context, StreamContext } from "../core/context.ts";
import { areEqual } from "../../util/equality.ts";
import { inLaterTick } from "../../util/event-loop.ts";
import { ownCopy } from "../../util/own-copy.ts";

/** The keys that events need. Every list of runs has them, so one list request can replace the reads of many runs. */
const EVENT_KEYS = ["unique_name", "last_status", "updated_at", "started_at", "finished_at"];

/** Reads a run. The result may be a list item, if one list request replaces the reads of several runs. */
export const readRun = <R extends TrackedRecord>(
  { kind, address }: Resource<R>,
  session: Session,
): Promise<Partial<R>> => kind.fetch(toResource(kind, address), EVENT_KEYS, session);

/** The source that polls a run, shared by all subscriptions to the run, its log and its metrics. */
export function runSource<R extends TrackedRecord>(
  run: Resource<R>,
  server: Server,
): StateSource<Partial<R>> {
  const { kind, address } = run;
  const endpoint = kind.run?.endpoints.read ?? runs.experiment.endpoints.job;
  // Safe: only kinds of run have batches, and runs have this address.
  const covering = server.batchOf(endpoint)?.common({ at: address as RunAddress, keys: EVENT_KEYS });
  let bytes = 0;
  return {
    key: `run ${keyOf(run)}`,
    batchKey: covering && `${kind.name} ${covering}`,
    endpoint,
    read: async (session, before) => {
      const now = await readRun(run, session);
      // Comparing and measuring a long record takes about as long as parsing it, and the parsing has just taken up this tick.
      return inLaterTick(() => {
        const latest = latestOf(before, now);
        if (latest !== before) bytes = estimateHeapBytes(latest);
        return latest;
      });
    },
    isFinal: isFinished,
    bytesOf: () => bytes,
  };
}

/** Returns `before` if both records have equal values for all documented keys that both contain; otherwise `now`. */
export function latestOf<Record extends object>(before: Record | null | undefined, now: Record): Record {
  if (!before || before === now) return now;
  for (const key in now)
    if (KNOWN_KEYS.has(key) && key in before && !areEqual(before[key], now[key])) return now;
  return before;
}

const RunUpdateReason = enumType("RunUpdateReason", "Why an event was sent.", {
  APPEARED: "It was there when the subscription began, or has entered the list.",
  CHANGED: "It has changed.",
  LEFT: "It no longer matches the filter, or was archived. `run` is its present state.",
  GONE: "It was deleted, or can no longer be read. `run` is its last known state.",
  DISPLACED: "Later changes have pushed it off the filtered list that is watched.",
});
export type UpdateReason = typeof RunUpdateReason.$inferType;

export interface Update {
  readonly reason: UpdateReason;
  readonly run: Resource<RunnableRecord>;
  /** The status in the previous event that the subscriber received for this run; null in the first event. */
  readonly previousStatus: RunStatus | null;
}

export const RunUpdate = objectType<Update>("RunUpdate", "An event of a run.", (t) => ({
  reason: t.field({ type: RunUpdateReason, ...exposed("reason", "Why it was sent.") }),
  run: t.field(
    computedFrom(
      Run,
      "The run. Fields that the poll did not read cost a request per event.",
      ({ run }) => run,
    ),
  ),
  previousStatus: t.field({
    type: RunStatusEnum,
    ...exposedOrNull("previousStatus", "Status in the run's previous event; null in its first one."),
  }),
}));

/** Creates an event. The default of `reason` applies to a run that is in the list. */
export const updateOf = (
  { kind, address }: Resource<RunnableRecord>,
  record: Partial<RunnableRecord>,
  previousStatus: RunStatus | null,
  reason: UpdateReason = previousStatus ? "CHANGED" : "APPEARED",
): Update => ({ reason, run: toResource(kind, address, record), previousStatus });

/**
 * The functions of a subscription field. `subscribe` opens the stream. `resolve` runs for each event, in a context of its own, and throws
 * the error of a failed poll.
 */
export const eventsOf = <Event, Args>(
  open: (args: Args, context: StreamContext) => LiveStream<Event> | Promise<LiveStream<Event>>,
) => ({
  subscribe: (_: unknown, args: Args, context: Context): LiveStream<Event> | Promise<LiveStream<Event>> => {
    context.session.requireToken();
    // Safe: `subscribe` is always called with a `StreamContext`. The arguments are copied, because polls retain them, and a string among
    // them may be a slice of the document, which V8 would then retain as well.
    return open(ownCopy(args), context as StreamContext);
  },
  resolve: ({ value, error }: StreamEvent<Event>): Event => {
    if (value === undefined) throw error;
    return value;
  },
});

/** The arguments of a subscription to a log or to metrics. */
export interface TailArgs {
  readonly id: string;
  readonly after?: string | null | undefined;
}
