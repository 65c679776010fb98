import { onTestFinished, vi } from "vitest";

/**
 * Every look at the clock finds that a time slice is over: each piece of work takes a turn of the event loop. Returns how
 * often the clock was looked at. All of them together are less than the time for which a token counts as known.
 */
export function stopwatchRuns(): () => number {
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 10));
  onTestFinished(() => clock.mockRestore());
  return () => clock.mock.calls.length;
}
