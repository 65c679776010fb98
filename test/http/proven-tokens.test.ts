import { expect, onTestFinished, test, vi } from "vitest";
import { Callers } from "../../src/caller.ts";

test("a token that the service goes on accepting stays proven", () => {
  let now = 1_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers().restoreAllMocks());
  const callers = new Callers();
  /** A request that the service accepts, so many minutes after the last one: the standing with which it came. */
  const requestAfter = (minutes: number) => {
    now += minutes * 60_000;
    vi.advanceTimersByTime(minutes * 60_000);
    const caller = callers.of("t0ken", "192.0.2.1");
    const { standing } = caller;
    caller.prove();
    return standing;
  };
  const standings = [0, 6, 6, 6, 11].map(requestAfter);
  expect(standings).toEqual(["unproven", "proven", "proven", "proven", "unproven"]);
});
