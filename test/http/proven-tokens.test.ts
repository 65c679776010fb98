import { expect, onTestFinished, test, vi } from "vitest";
import { Callers } from "../../src/caller.ts";

const MINUTE_MS = 60_000;

test("a token that the service goes on accepting stays proven", () => {
  let now = 1_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  const pass = (ms: number): void => {
    now += ms;
    vi.advanceTimersByTime(ms);
  };
  const callers = new Callers();
  /** A request that the service accepts: the standing with which it came. */
  const request = () => {
    const caller = callers.of("t0ken", "192.0.2.1");
    const { standing } = caller;
    caller.prove();
    return standing;
  };
  expect(request()).toBe("unproven");
  for (let minutes = 6; minutes <= 30; minutes += 6) {
    pass(6 * MINUTE_MS);
    expect(request()).toBe("proven");
  }
  pass(11 * MINUTE_MS);
  expect(request()).toBe("unproven");
});
