import { vi } from "vitest";
import type { Clock } from "../../src/util/clock.ts";
import { LONG_TIMEOUT } from "./long-timeout.ts";

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * A clock that changes only when the test advances it. When it is advanced, it calls the due timers in order. `settle` waits until the
 * pending work has ended: what has happened before a time must not be processed after it.
 */
export function fakeClock(settle: () => Promise<void> = async () => {}) {
  let now = 0;
  const timers = new Set<Timer>();
  const clock: Clock = {
    now: () => now,
    after: (ms, callback) => {
      const timer = { at: now + ms, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
  const next = (until: number): Timer | undefined =>
    [...timers].filter(({ at }) => at <= until).toSorted((one, other) => one.at - other.at)[0];

  const moveTo = (until: number): void => {
    for (let timer = next(until); timer; timer = next(until)) {
      timers.delete(timer);
      now = Math.max(now, timer.at);
      timer.callback();
    }
    now = Math.max(now, until);
  };

  return {
    clock,
    advance: (ms: number): void => moveTo(now + ms),
    /** For each of these times, in milliseconds since the start: waits until a timer is set for it, and advances the clock to it. */
    reach: async (...times: readonly number[]): Promise<void> => {
      for (const time of times) {
        await vi.waitUntil(() => [...timers].some(({ at }) => at === time), LONG_TIMEOUT);
        await settle();
        moveTo(time);
      }
    },
    /** The times of the timers that are set. */
    timers: () => [...timers].map(({ at }) => at).toSorted((one, other) => one - other),
  };
}
