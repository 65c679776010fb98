/** The time and the timers of polling. Tests replace it and advance it by hand. */
export interface Clock {
  /** Milliseconds since any fixed point; never goes back. */
  readonly now: () => number;
  /** Calls back once after a pause. Returns a function that cancels it. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, callback) => {
    // What listens keeps the process alive, not what is to be polled or forgotten.
    const timer = setTimeout(callback, ms).unref();
    return () => clearTimeout(timer);
  },
};
