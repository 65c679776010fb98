import { setTimeout as sleep } from "node:timers/promises";
import { send, authorizationOf } from "./peers/load.ts";
import { bodyOf, type Operation } from "./peers/operations.ts";
import { cpuMs, type Started, type StaticService } from "./peers/processes.ts";

/** Maximum number of requests per user and minute that the service serves. */
export const SERVED_PER_MINUTE = 120;
/** Interval in which a dashboard sends its two operations, in seconds. */
export const REFRESH_SECONDS = 10;

const MINUTE_MS = 60_000;

export interface Minute {
  readonly operations: number;
  /** Operations whose response has another status than 200, or errors. */
  readonly failed: number;
  /** Upstream requests that reached the service, and those of them that it rejected with 429. */
  readonly requests: number;
  readonly throttled: number;
  readonly cpuMs: number;
}

/** Runs dashboards for a minute in front of a service that throttles each user. Their starts are spread over one refresh interval. */
export async function measureMinute(
  started: Started,
  service: StaticService,
  dashboard: readonly Operation[],
  { users, each }: { readonly users: number; readonly each: number },
): Promise<Minute> {
  await service.behave({ perMinute: SERVED_PER_MINUTE });
  const before = cpuMs(started.pid);
  const end = performance.now() + MINUTE_MS;
  let operations = 0;
  let failed = 0;
  const refresh = async (user: number, round: number) => {
    for (const operation of dashboard) {
      const request = {
        body: bodyOf(operation, operation.query, round),
        authorization: authorizationOf(user),
      };
      const { status, text } = await send(started.url, request);
      operations++;
      if (status !== 200 || text.includes('"errors":[')) failed++;
    }
  };
  await Promise.all(
    Array.from({ length: users * each }, async (_, index) => {
      let due = performance.now() + (index / (users * each)) * REFRESH_SECONDS * 1_000;
      for (let round = index; due < end; round++, due += REFRESH_SECONDS * 1_000) {
        await sleep(Math.max(0, due - performance.now()));
        await refresh(index % users, round);
      }
    }),
  );
  const { requests, throttled } = await service.behave();
  return { operations, failed, requests, throttled, cpuMs: cpuMs(started.pid) - before };
}
