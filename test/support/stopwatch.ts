import { onTestFinished, vi } from "vitest";

/**
 * Every look at the clock finds that a time slice is over: each piece of work takes a turn of the event loop. Returns how
 * often the clock was looked at.
 */
export function stopwatchRuns(): () => number {
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 1_000));
  onTestFinished(() => clock.mockRestore());
  return () => clock.mock.calls.length;
}
