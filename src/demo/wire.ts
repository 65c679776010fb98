import { createHash } from "node:crypto";

import { type Project, type Run, span, type Status } from "./model.ts";

/** A record as it travels. */
export type Wire = Record<string, unknown>;

/** ISO 8601 with microseconds and an offset; the last three digits are made up. */
export function timestamp(at: number): string {
  const made = String(Math.abs(Math.trunc(at * 0.577)) % 1_000).padStart(3, "0");
  return new Date(at).toISOString().replace("Z", `${made}+00:00`);
}

/** The four times that every tracked record carries; its start and end follow from its statuses. */
export function times(record: {
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly statuses: readonly Status[];
}): Wire {
  const { startedAt, finishedAt } = span(record.statuses);
  return {
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
    started_at: startedAt === null ? null : timestamp(startedAt),
    finished_at: finishedAt === null ? null : timestamp(finishedAt),
  };
}

/** 32 hexadecimal digits, the same for the same record in every demo service. */
export function uuid(series: string, id: number): string {
  return createHash("md5").update(`${series} ${id}`).digest("hex");
}

export function projectName({ owner, name }: Pick<Project, "owner" | "name">): string {
  return `${owner}.${name}`;
}

/** An experiment inside a group has four parts; a group and a single experiment can have the same name. */
export function uniqueName(run: Run): string {
  const project = projectName(run.project);
  if (run.kind === "group") return `${project}.${run.id}`;
  if (run.kind === "experiment") return `${run.group ? uniqueName(run.group) : project}.${run.id}`;
  return `${project}.${run.kind}s.${run.id}`;
}
