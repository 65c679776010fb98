import { isDeepStrictEqual } from "node:util";
import { isKnownKey, type TrackedRecord, type RunnableRecord } from "../../rest/api/records.ts";
import type { Session } from "../../rest/session/session.ts";
import { type Resource, toResource } from "../core/resource.ts";
import { builder } from "../core/builder.ts";
import { Run } from "../core/refs.ts";
import { isFinished, RunStatusEnum, statusOf } from "../types/status.ts";

/** Keys that every list of runs has, so that one list can replace the reads of many runs. */
const KEYS = ["unique_name", "last_status", "updated_at", "started_at", "finished_at"];

/** Reads the record of a run: as a whole, or as the item of a list that covers several runs. */
export const readRun = <R extends TrackedRecord>(
  { kind, address }: Resource<R>,
  session: Session,
): Promise<Partial<R>> => kind.fetch(toResource(kind, address), KEYS, session);

/** Identifies a run among all kinds. */
export const keyOfRun = ({ kind, address }: Resource): string =>
  [kind.name, ...kind.parameters.map((name) => address[name])].join("/");

/** The record of before when it is equal in all known keys that both have, otherwise the new one. */
export function latestOf<Record extends object>(before: Record | null | undefined, now: Record): Record {
  if (!before || before === now) return now;
  const keys = Object.keys(now).filter((key) => isKnownKey(key) && key in before) as (keyof Record)[];
  return keys.every((key) => isDeepStrictEqual(before[key], now[key])) ? before : now;
}

const REASONS = {
  APPEARED:
    "The first event of the run: it was there when the subscription began, or has come into the list since.",
  CHANGED: "It has changed.",
  LEFT: "It is no longer in the list: it does not match the filter any more, or was archived. `run` is its present state.",
  GONE: "It was deleted, or cannot be read any more. `run` is its last known state; fields that the poll does not read are errors.",
  DISPLACED:
    "Runs that changed later have taken its place among the first of the list, and it is not watched any more. Only with a filter. `run` is its present state. An event tells when it comes back.",
} as const;
export type UpdateReason = keyof typeof REASONS;

const RunUpdateReason = builder.enumType("RunUpdateReason", {
  description:
    "Why a subscription tells the state of a run. Values can be added in a minor release: clients need a default branch.",
  // Safe: these are the keys of the table.
  values: Object.fromEntries(
    Object.entries(REASONS).map(([name, description]) => [name, { description }]),
  ) as Record<UpdateReason, { description: string }>,
});

interface Update {
  readonly reason: UpdateReason;
  readonly run: Resource<RunnableRecord>;
  /** The record of the subscriber's previous event; null at the beginning. */
  readonly before: Partial<RunnableRecord> | null;
}

export const RunUpdate = builder.objectRef<Update>("RunUpdate").implement({
  description:
    "The state of a run at the beginning of a subscription, after a change, or when it leaves a list.",
  fields: (t) => ({
    reason: t.field({
      type: RunUpdateReason,
      nullable: false,
      description: "Why the run is told.",
      resolve: ({ reason }) => reason,
    }),
    run: t.field({
      type: Run,
      nullable: false,
      description:
        "The run. Fields that the poll has read cost no upstream request, the others are read for each event.",
      resolve: ({ run }) => run,
    }),
    previousStatus: t.field({
      type: RunStatusEnum,
      description:
        "Status in the previous event of the run in this subscription. Null in its first event. Statuses in between may be missing: see `Trackable.statuses`.",
      resolve: ({ before }) => before && statusOf(before.last_status),
    }),
    isFinal: t.boolean({
      nullable: false,
      description: "Whether the run has reached a final phase.",
      resolve: ({ run: { loaded } }) => isFinished(loaded),
    }),
  }),
});

/** The event of a record of a run. The default reason is that of a run that stays. */
export const updateOf = (
  { kind, address }: Resource<RunnableRecord>,
  record: Partial<RunnableRecord>,
  before: Partial<RunnableRecord> | null,
  reason: UpdateReason = before ? "CHANGED" : "APPEARED",
): Update => ({ reason, run: toResource(kind, address, record), before });
