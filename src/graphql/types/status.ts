import type { InputShapeFromFields } from "@pothos/core";
import { readLast } from "../../rest/session/pagination.ts";
import { computedFrom, computedFromOrNull, enumType } from "../core/builder.ts";
import { mapped, millisecondsOf } from "../../rest/api/record.ts";
import type { StatusRecord as StatusRow, TrackedRecord } from "../../rest/api/records.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import { type bothWaysArgs, connectionOf, readBothWays } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import type { Resource } from "../core/resource.ts";
import { entryIds, keyOf } from "../core/ids.ts";
import { StatusRecord, Trackable } from "../core/refs.ts";

const PHASES = {
  PENDING: "Not started.",
  ACTIVE: "Started, not ended.",
  SUCCEEDED: "Ended successfully.",
  FAILED: "Ended with an error.",
  STOPPED: "Stopped or skipped.",
  UNKNOWN: "The stage does not follow from the status.",
} as const;
export type RunPhase = keyof typeof PHASES;

const STATUSES = {
  CREATED: ["PENDING", "Created; nothing has happened yet."],
  RESUMING: ["PENDING", "Preparing to continue an earlier run."],
  BUILDING: ["PENDING", "Its image is being built."],
  SCHEDULED: ["PENDING", "In the queue of the cluster."],
  UNSCHEDULABLE: ["PENDING", "The cluster has no resources for it now."],
  STARTING: ["ACTIVE", "Containers are starting."],
  RUNNING: ["ACTIVE", "Running."],
  WARNING: ["ACTIVE", "Has a problem from which it can recover."],
  RETRYING: ["ACTIVE", "Being retried."],
  STOPPING: ["ACTIVE", "Asked to stop, not ended yet."],
  SUCCEEDED: ["SUCCEEDED", "Ended successfully."],
  DONE: ["SUCCEEDED", "All parts of a group have ended."],
  FAILED: ["FAILED", "Ended with an error."],
  UPSTREAM_FAILED: ["FAILED", "Could not run because a dependency failed."],
  STOPPED: ["STOPPED", "Stopped."],
  SKIPPED: ["STOPPED", "Skipped."],
  UNKNOWN: ["UNKNOWN", "The service reports this status, or none."],
  OTHER: ["UNKNOWN", "A status that this schema does not have: see `rawStatus`."],
} as const satisfies Record<string, readonly [RunPhase, string]>;
export type RunStatus = keyof typeof STATUSES;

export const RunStatusEnum = enumType(
  "RunStatus",
  "Status of a run.",
  mapped(STATUSES, ([, meaning]) => meaning),
);

export const statusesOf = (phase: RunPhase): readonly RunStatus[] =>
  // Safe: these are the keys of the table.
  (Object.keys(STATUSES) as RunStatus[]).filter((status) => STATUSES[status][0] === phase);

export const RunPhaseEnum = enumType(
  "RunPhase",
  "Coarse stage of a run, for colours and to stop polling. Every status belongs to one.",
  mapped(PHASES, (meaning, name) => `${meaning} ${statusesOf(name).join(", ")}.`),
);

/** Maximum length of a string that may be a value of an enum, in characters. */
const MAX_NAME_LENGTH = 100;

/** Converts an upstream string to an enum value, ignoring case. An unknown string becomes `OTHER`. `table` has the enum values as keys. */
export function enumValueOf<Name extends string>(
  table: Readonly<Record<Name | "OTHER", unknown>>,
  raw: string,
): Name | "OTHER" {
  const name = raw.length > MAX_NAME_LENGTH ? "OTHER" : raw.toUpperCase();
  // Safe: `Object.hasOwn` has verified that the name is a key of the table.
  return Object.hasOwn(table, name) ? (name as Name) : "OTHER";
}

/** Converts a status to the enum. An unknown string becomes `OTHER`, null becomes `UNKNOWN`. */
export const statusOf = (raw: string | null | undefined): RunStatus =>
  raw ? enumValueOf<RunStatus>(STATUSES, raw) : "UNKNOWN";

/** The record keys that determine the phase of a run. */
export const STATE = ["last_status", "started_at", "finished_at"] as const;

type StatusDetails = Partial<Pick<TrackedRecord, (typeof STATE)[number]>>;

/** The phase that belongs to the status of a run. If that is `UNKNOWN`, a run that has started and not ended is `ACTIVE`. */
export function phaseOf({ last_status, started_at, finished_at }: StatusDetails): RunPhase {
  const [phase] = STATUSES[statusOf(last_status)];
  return phase === "UNKNOWN" && started_at && !finished_at ? "ACTIVE" : phase;
}

/** Whether a run has ended, by its phase. If the phase is `UNKNOWN`, by whether it has an end time. */
export function isFinished(record: StatusDetails): boolean {
  const phase = phaseOf(record);
  return phase === "UNKNOWN" ? Boolean(record.finished_at) : phase !== "PENDING" && phase !== "ACTIVE";
}

/**
 * Seconds from the start of a run to its end, or to `now` (in milliseconds) if it has not ended. Null before the start, and if a time is
 * missing or invalid.
 */
export function durationSeconds(record: StatusDetails, now: number): number | null {
  if (!record.started_at) return null;
  // The run has ended, but its end time is missing.
  if (!record.finished_at && isFinished(record)) return null;
  const end = record.finished_at ? millisecondsOf(record.finished_at) : now;
  const seconds = (end - millisecondsOf(record.started_at)) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

export const StatusRecordConnection = connectionOf(StatusRecord, "A page of a status history.");

const historyOf = ({ kind, address }: Resource<TrackedRecord>) => {
  if (!kind.statuses) throw notOffered("a status history of such runs");
  return { endpoint: kind.statuses, address, sortedBy: ["created_at"], areTiesSorted: true };
};

export const readStatuses = async (
  parent: Resource<TrackedRecord>,
  args: InputShapeFromFields<typeof bothWaysArgs>,
  context: Context,
) => readBothWays(historyOf(parent), args, (record) => ({ parent, record }), context);

export async function readLatestStatus(
  parent: Resource<TrackedRecord>,
  _args: object,
  { session, gateway }: Context,
): Promise<typeof StatusRecord.$inferType | null> {
  const request = { last: 1, before: null, maxSize: gateway.maxPageSize };
  const { items } = await readLast(session, historyOf(parent), request);
  const [record] = items;
  return record ? { parent, record } : null;
}

const received = <const Key extends keyof StatusRow>(key: Key, description: string) => ({
  description,
  resolve: ({ record }: typeof StatusRecord.$inferType) => record[key] ?? null,
});

StatusRecord.implement({
  description: "An entry of a status history.",
  fields: (t) => ({
    ...entryIds(t, "StatusRecord", keyOf),
    uuid: t.string(received("uuid", "Identifier in the tracking service.")),
    createdAt: t.field({ type: "DateTime", ...received("created_at", "Time at which it was reached.") }),
    traceback: t.string(
      received(
        "traceback",
        "Stack trace of an error; null without an error, and on servers that do not send one.",
      ),
    ),
    message: t.string(received("message", "Explanation; null without one.")),
    status: t.field(computedFrom(RunStatusEnum, "Status.", ({ record }) => statusOf(record.status))),
    rawStatus: t.string(received("status", "Status, as the service spells it.")),
    details: t.field({ type: "JSON", ...received("details", "Details, which only some kinds have.") }),
    subject: t.field(computedFromOrNull(Trackable, "Whose status it is.", ({ parent }) => parent)),
  }),
});
