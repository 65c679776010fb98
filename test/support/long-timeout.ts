import { onTestFinished, vi } from "vitest";
import { within } from "./machine.ts";

/**
 * Options for `vi.waitUntil` and `vi.waitFor`, whose default timeout of one second is too short on a slow machine. The timeout is longer
 * than the timeout of most tests, but finite, because a wait continues after its test has failed.
 */
export const LONG_TIMEOUT = { timeout: within(60_000), interval: 5 };

/** Prevents pings by libraries until the test ends, so that no connection ends because of a missing pong. */
export function withoutPings(): void {
  const pings = vi.spyOn(globalThis, "setInterval").mockReturnValue(null as never);
  onTestFinished(() => pings.mockRestore());
}

const LONG = "600000";

/** Settings with which no deadline passes while a test runs. */
export const NO_DEADLINES = { REQUEST_TIMEOUT_MS: LONG, UPSTREAM_TIMEOUT_MS: LONG } as const;

/**
 * Runs a test in which a deadline expires for some exchanges and must not expire for others. The first deadline is short, so that the test
 * does not take long. On a machine that is too slow for this deadline, `attempt` runs again from scratch with a longer one.
 */
export async function withDeadline(attempt: (deadlineMs: number) => Promise<void>): Promise<void> {
  for (const deadlineMs of [200, 2_000, 10_000]) {
    try {
      return await attempt(deadlineMs);
    } catch {
      // The test has failed, or the machine is slow. A longer deadline shows which.
    }
  }
  return attempt(within(15_000));
}
