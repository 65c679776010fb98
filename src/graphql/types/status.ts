import type { TrackedRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";

/** All known statuses and their phases. */
const STATUSES = {
  CREATED: ["PENDING", "Record exists, nothing has happened yet."],
  RESUMING: ["PENDING", "Being prepared to continue an earlier run."],
  BUILDING: ["PENDING", "Its image is being built."],
  SCHEDULED: ["PENDING", "Placed in the queue of the cluster."],
  UNSCHEDULABLE: ["PENDING", "The cluster has no place for it at present."],
  STARTING: ["ACTIVE", "Containers are starting."],
  RUNNING: ["ACTIVE", "Running."],
  WARNING: ["ACTIVE", "Needs attention, can recover."],
  RETRYING: ["ACTIVE", "Being tried again."],
  STOPPING: ["ACTIVE", "Was asked to stop and has not ended yet."],
  SUCCEEDED: ["SUCCEEDED", "Ended well."],
  DONE: ["SUCCEEDED", "All parts of a group have ended."],
  FAILED: ["FAILED", "Ended with an error."],
  UPSTREAM_FAILED: ["FAILED", "Could not run because something it needs failed."],
  STOPPED: ["STOPPED", "Was stopped."],
  SKIPPED: ["STOPPED", "Was skipped."],
  UNKNOWN: ["UNKNOWN", "The service itself reports that it does not know, or reports no status."],
  OTHER: ["UNKNOWN", "A value this schema does not know; read `rawStatus`."],
} as const satisfies Record<string, readonly [RunPhase, string]>;

type RunStatus = keyof typeof STATUSES;
type RunPhase = keyof typeof PHASES;

const PHASES = {
  PENDING: "Not started.",
  ACTIVE: "Started and not ended.",
  SUCCEEDED: "Ended well.",
  FAILED: "Ended with an error.",
  STOPPED: "Ended because someone stopped or skipped it.",
  UNKNOWN: "Cannot be told.",
} as const;

const entries = <Row extends object>(rows: Row) =>
  Object.entries(rows) as [keyof Row & string, Row[keyof Row]][];

export const RunStatusEnum = builder.enumType("RunStatus", {
  description:
    "Statuses known to this schema. The service does not publish its full list: a value that is not listed here is reported as `OTHER`, and its spelling is in `rawStatus`. New values can be added in a minor release; clients need a default branch.",
  values: Object.fromEntries(
    entries(STATUSES).map(([name, [, description]]) => [name, { description }]),
  ) as Record<RunStatus, { description: string }>,
});

export const RunPhaseEnum = builder.enumType("RunPhase", {
  description:
    "Coarse stages. This list is closed: every status, also an unknown one, falls into one of them.",
  values: Object.fromEntries(entries(PHASES).map(([name, description]) => [name, { description }])) as Record<
    RunPhase,
    { description: string }
  >,
});

/** Converts a status to the enum: unknown text is `OTHER`, null is `UNKNOWN`. */
export function statusOf(raw: string | null | undefined): RunStatus {
  if (!raw) return "UNKNOWN";
  const name = raw.toUpperCase();
  return Object.hasOwn(STATUSES, name) && name !== "OTHER" ? (name as RunStatus) : "OTHER";
}

type StatusFacts = Partial<Pick<TrackedRecord, "last_status" | "started_at" | "finished_at">>;

/** The phase of a run. A final status decides; otherwise the time stamps do. */
export function phaseOf({ last_status, started_at, finished_at }: StatusFacts): RunPhase {
  const [phase] = STATUSES[statusOf(last_status)];
  if (phase === "SUCCEEDED" || phase === "FAILED" || phase === "STOPPED") return phase;
  if (finished_at) return "UNKNOWN";
  if (phase === "UNKNOWN") return started_at ? "ACTIVE" : "UNKNOWN";
  return phase;
}

/** Whether the run has ended: it is in a final phase, or the service recorded an end. */
export const isFinished = (record: StatusFacts): boolean =>
  Boolean(record.finished_at) || ["SUCCEEDED", "FAILED", "STOPPED"].includes(phaseOf(record));

/** Seconds from start to end, or to now while it runs; null before the start or when a time is invalid. */
export function durationSeconds(record: StatusFacts): number | null {
  if (!record.started_at) return null;
  // The duration is unknown when the service recorded no end.
  if (!record.finished_at && isFinished(record)) return null;
  const end = record.finished_at ? Date.parse(record.finished_at) : Date.now();
  const seconds = (end - Date.parse(record.started_at)) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}
