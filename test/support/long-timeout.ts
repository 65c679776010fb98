import { onTestFinished, vi } from "vitest";
import { within } from "./machine.ts";

/**
 * For `vi.waitUntil` and `vi.waitFor`: their own second would be too short on a slow machine. Longer than most tests may take,
 * but not for ever: what a test waited for when its time was over goes on beside the tests after it.
 */
export const LONG_TIMEOUT = { timeout: within(60_000), interval: 5 };

/** Keeps libraries from pinging callers until the test ends: what ends before does so for another reason. */
export function withoutPings(): void {
  const pings = vi.spyOn(globalThis, "setInterval").mockReturnValue(null as never);
  onTestFinished(() => pings.mockRestore());
}

const LONG = "600000";

/** Settings with which no deadline passes while a test runs. */
export const NO_DEADLINES = { REQUEST_TIMEOUT_MS: LONG, UPSTREAM_TIMEOUT_MS: LONG } as const;

/**
 * Runs a test in which a deadline passes for some exchanges while others must keep it. The first deadline is short,
 * so that no test waits for long; a machine that is too slow for it gets longer ones. `attempt` begins from scratch.
 */
export async function withDeadline(attempt: (deadlineMs: number) => Promise<void>): Promise<void> {
  for (const deadlineMs of [200, 2_000, 10_000]) {
    try {
      return await attempt(deadlineMs);
    } catch {
      // Either it is wrong, or the machine is slow: a longer deadline tells which.
    }
  }
  return attempt(within(15_000));
}
