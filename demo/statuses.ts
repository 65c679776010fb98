import type { Status } from "./store.ts";

export function lastStatus(run: { readonly statuses: readonly Status[] }): string {
  return run.statuses.at(-1)?.status ?? "created";
}

const finalStatuses: ReadonlySet<string> = new Set([
  "succeeded",
  "failed",
  "upstream_failed",
  "stopped",
  "skipped",
]);

/** Whether a run keeps a status unless a command changes it. */
export function isFinal(status: string): boolean {
  return finalStatuses.has(status);
}

/** When a run first reached `running`, and when it first reached a final status; null before that. */
export function spanOf(statuses: readonly Status[]): {
  startedAt: number | null;
  finishedAt: number | null;
} {
  return {
    startedAt: statuses.find(({ status }) => status === "running")?.at ?? null,
    finishedAt: statuses.find(({ status }) => isFinal(status))?.at ?? null,
  };
}
