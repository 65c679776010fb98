/** The maximum number of requests in any period. */
export interface RateLimit {
  readonly requests: number;
  readonly periodMs: number;
}

export const perSeconds = (requests: number, seconds: number) => ({ requests, periodMs: seconds * 1_000 });

/**
 * A sliding-window counter of the requests of one token. A share of the limit may be used as a burst, for example when a page opens. The
 * remaining requests are spread over the time until the oldest request leaves the window, so that no request waits for a whole period.
 */
export class SlidingWindow {
  readonly #limit: RateLimit;
  readonly #atOnce: number;
  /** The times of requests, oldest first. The first `#left` times have left the window. */
  #times: number[] = [];
  #left = 0;

  /** `atOnce` is the share of the limit that may be used as a burst. */
  constructor(limit: RateLimit, atOnce: number) {
    this.#limit = limit;
    this.#atOnce = Math.ceil(limit.requests * atOnce);
  }

  /** The earliest time for a new request behind `ahead` waiting ones. `unsent`: number of admitted requests that have not been sent yet. */
  nextAt(now: number, ahead = 0, unsent = 0): number {
    const used = this.countAt(now) + unsent;
    if (used + ahead < this.#atOnce) return now;
    const { requests, periodMs } = this.#limit;
    const free = requests - used;
    const oldest = this.#times[this.#left] ?? now;
    const latest = (unsent > 0 ? null : this.#times.at(-1)) ?? now;
    if (free > ahead)
      return Math.max(now, latest + ((oldest + periodMs - latest) * (ahead + 1)) / (free + 1));
    const excess = ahead - free;
    const periods = 1 + Math.floor(excess / requests);
    return (this.#times[this.#left + (excess % requests)] ?? now) + periods * periodMs;
  }

  /** The earliest time at which a request would not exceed another limit, whose period must not be longer than the window's. */
  freeAt(now: number, { requests, periodMs }: RateLimit): number {
    const oldest = this.#times.at(-requests);
    return oldest === undefined ? now : Math.max(now, oldest + periodMs);
  }

  record(now: number): void {
    this.#times.push(now);
  }

  countAt(now: number): number {
    const { periodMs } = this.#limit;
    while ((this.#times[this.#left] ?? now) <= now - periodMs) this.#left++;
    if (this.#left > this.#times.length / 2) {
      this.#times = this.#times.slice(this.#left);
      this.#left = 0;
    }
    return this.#times.length - this.#left;
  }
}
