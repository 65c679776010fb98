import type { TrackedRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";

/** All known statuses and their phases. */
const STATUSES = {
  CREATED: ["PENDING", "Created; nothing has happened yet."],
  RESUMING: ["PENDING", "Preparing to continue an earlier run."],
  BUILDING: ["PENDING", "Its image is being built."],
  SCHEDULED: ["PENDING", "Placed in the queue of the cluster."],
  UNSCHEDULABLE: ["PENDING", "The cluster currently has no resources for it."],
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
  UNKNOWN: ["UNKNOWN", "The service reports that the status is unknown, or reports none."],
  OTHER: ["UNKNOWN", "A status that this schema does not know. See `rawStatus`."],
} as const satisfies Record<string, readonly [RunPhase, string]>;

export type RunStatus = keyof typeof STATUSES;
type RunPhase = keyof typeof PHASES;

const PHASES = {
  PENDING: "Not started.",
  ACTIVE: "Started, not ended.",
  SUCCEEDED: "Ended successfully.",
  FAILED: "Ended with an error.",
  STOPPED: "Stopped or skipped.",
  UNKNOWN: "Cannot be determined.",
} as const;

const entries = <Row extends object>(rows: Row) =>
  Object.entries(rows) as [keyof Row & string, Row[keyof Row]][];

export const RunStatusEnum = builder.enumType("RunStatus", {
  description:
    "Status of a run. The service does not publish all statuses: one that is not listed here is `OTHER`, and its spelling is in `rawStatus`. Values can be added in a minor release: clients need a default branch.",
  values: Object.fromEntries(
    entries(STATUSES).map(([name, [, description]]) => [name, { description }]),
  ) as Record<RunStatus, { description: string }>,
});

const statusesOf = (phase: RunPhase): string =>
  entries(STATUSES)
    .filter(([, [of]]) => of === phase)
    .map(([status]) => `\`${status}\``)
    .join(", ");

export const RunPhaseEnum = builder.enumType("RunPhase", {
  description:
    "Coarse stage of a run. The list is closed: every status, also an unknown one, belongs to one phase. Lists are filtered by statuses.",
  values: Object.fromEntries(
    entries(PHASES).map(([name, description]) => [
      name,
      { description: `${description} Statuses: ${statusesOf(name)}.` },
    ]),
  ) as Record<RunPhase, { description: string }>,
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
