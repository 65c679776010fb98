/**
 * The clock of everything that outlasts a request: polls, rate limits, the circuit breaker, slow readers, idle sockets. Tests replace the
 * clock and advance it by hand. Deadlines and retries use Node's own timers.
 */
export interface Clock {
  /** Milliseconds since any fixed point. Never decreases. */
  readonly now: () => number;
  /** Calls back once after a pause, at the latest after 24 days. Returns a function that cancels the call. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** Maximum delay of a timer, in milliseconds. Node replaces a longer delay with 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, callback) => {
    // Only servers keep the process running, so the timer is unreferenced.
    const timer = setTimeout(callback, Math.min(ms, MAX_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};
