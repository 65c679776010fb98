import type { Clock } from "../../src/live/clock.ts";

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands until `advance` moves it on, which calls the timers on its way in their order. */
export function handClock() {
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
  return {
    clock,
    advance: (ms: number): void => {
      const until = now + ms;
      for (let timer = next(until); timer; timer = next(until)) {
        timers.delete(timer);
        now = Math.max(now, timer.at);
        timer.callback();
      }
      now = until;
    },
  };
}
