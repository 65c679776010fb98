const MINUTE_MS = 60_000;

/** Limits the upstream requests of one token's subscriptions in any minute. */
export interface Budget {
  /** How many requests may be sent now. */
  readonly allowance: (now: number) => number;
  /** The earliest time at which a request may be sent. */
  readonly nextAt: (now: number) => number;
  readonly spend: (now: number) => void;
  /** Whether nothing was spent in the last minute. */
  readonly isFull: (now: number) => boolean;
}

/**
 * Creates a budget. Half of it can be spent at once, as when a page opens; what is left is spread over the time until the
 * oldest request is a minute ago, so that many runs are polled in turn and not all at the start of each minute.
 */
export function createBudget(perMinute: number): Budget {
  const atOnce = Math.ceil(perMinute / 2);
  /** The times of the requests of the last minute, oldest first. */
  let spent: number[] = [];

  const forget = (now: number): void => {
    const first = spent.findIndex((at) => at > now - MINUTE_MS);
    spent = first === -1 ? [] : spent.slice(first);
  };

  const nextAt = (now: number): number => {
    forget(now);
    const { length } = spent;
    const [oldest = now] = spent;
    const latest = spent.at(-1) ?? now;
    const left = perMinute - length;
    if (length < atOnce) return now;
    if (left <= 0) return (spent[-left] ?? latest) + MINUTE_MS;
    return Math.max(now, latest + (oldest + MINUTE_MS - latest) / (left + 1));
  };

  return {
    nextAt,
    allowance: (now) => (nextAt(now) > now ? 0 : Math.max(1, atOnce - spent.length)),
    spend: (now) => void spent.push(now),
    isFull: (now) => {
      forget(now);
      return spent.length === 0;
    },
  };
}
