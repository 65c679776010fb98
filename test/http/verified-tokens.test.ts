import { expect, onTestFinished, test, vi } from "vitest";
import { CallerRegistry } from "../../src/callers/callers.ts";

const MINUTE_MS = 60_000;

/** Creates a caller registry with a clock, and a function that advances the clock. */
function startCallers() {
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
  return { callers: new CallerRegistry(), pass };
}

test("a token stays verified while the service keeps accepting it", () => {
  const { callers, pass } = startCallers();
  /** Sends a request that the service accepts. Returns the verification that the caller had before. */
  const request = () => {
    const caller = callers.of("t0ken", "192.0.2.1");
    const { verification } = caller;
    caller.markVerified();
    return verification;
  };
  expect(request()).toBe("unverified");
  for (let minutes = 6; minutes <= 30; minutes += 6) {
    pass(6 * MINUTE_MS);
    expect(request()).toBe("verified");
  }
  pass(11 * MINUTE_MS);
  expect(request()).toBe("unverified");
});

test("a caller is remembered while it has work in progress", () => {
  const { callers, pass } = startCallers();
  const places = callers.quota({ total: 10, perCaller: 1 });
  const caller = callers.of("t0ken", "192.0.2.1");
  places.add(caller, 1);
  pass(30 * MINUTE_MS);
  callers.of(null, "192.0.2.2");
  expect(places.exceededBy(callers.of("t0ken", "192.0.2.1"))).toBe("caller");
  places.add(caller, -1);
  pass(30 * MINUTE_MS);
  callers.of(null, "192.0.2.2");
  expect(callers.of("t0ken", "192.0.2.1")).not.toBe(caller);
});

test("remembers at most 2,000 unverified callers, without forgetting a verified one", () => {
  const { callers } = startCallers();
  const verified = callers.of("verified", "192.0.2.1");
  verified.markVerified();
  const first = callers.of("invented 0", "192.0.2.2");
  for (let token = 1; token < 2_000; token++) callers.of(`invented ${token}`, "192.0.2.2");
  expect(callers.of("verified", "192.0.2.1")).toBe(verified);
  expect(callers.of("invented 0", "192.0.2.2")).not.toBe(first);
});
