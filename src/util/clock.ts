/**
 * The clock of what lasts longer than a request: polls, rate limits, the circuit breaker, slow readers, idle sockets. Tests replace it and
 * advance it by hand. Deadlines and retries have Node's own timers.
 */
export interface Clock {
  /** Milliseconds since any fixed point; never goes back. */
  readonly now: () => number;
  /** Calls back once after a pause, at the latest after 24 days. Returns a function that cancels it. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** Longer pauses overflow: the timer would call back at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, callback) => {
    // Servers keep the process alive, not timers.
    const timer = setTimeout(callback, Math.min(ms, MAX_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};
