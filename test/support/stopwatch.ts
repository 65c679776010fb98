import { onTestFinished, vi } from "vitest";

/**
 * Ends the time slice at every read of the clock, so that each task takes a tick of the event loop. Returns a function that counts these
 * reads. The added time is less than the time for which a token stays verified.
 */
export function stopwatchRuns(): () => number {
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 10));
  onTestFinished(() => clock.mockRestore());
  return () => clock.mock.calls.length;
}
