import { onTestFinished, vi } from "vitest";

/**
 * Advances the clock by 10 ms at every read. This ends the current time slice, so that each task takes its own tick of the event loop. The
 * total is less than the time for which a token stays verified. Returns a function that counts the reads.
 */
export function stopwatchRuns(): () => number {
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 10));
  onTestFinished(() => clock.mockRestore());
  return () => clock.mock.calls.length;
}
