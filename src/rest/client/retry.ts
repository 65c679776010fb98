import { retryOf, GatewayError } from "../../errors.ts";
import type { Caller } from "../../callers/callers.ts";
import type { Lifetime } from "./upstream-call.ts";
import { MAX_RETRY_AFTER_SECONDS } from "./error-mapping.ts";

/**
 * Retry budget of each caller and of all together: at most a tenth of the requests within 10 seconds may be retries. Some retries are always
 * allowed.
 */
const RETRY_SHARE = 0.1;
const MIN_RETRIES = { caller: 10, all: 20 };
const WINDOW_MS = 10_000;

/** Maximum pause before a retry with backoff, in milliseconds. If `Retry-After` is longer, there is no retry. */
const MAX_PAUSE_MS = 2_000;
const FIRST_PAUSE_MS = 100;

export type Retries = ReturnType<typeof createRetries>;

/** Creates the retry policy. Its budgets keep retries from multiplying the load on a failing service. */
export function createRetries(maxRetries: number) {
  let windowStart = Date.now();
  let all = { attempts: 0, retries: 0 };
  const byCaller = new Map<Caller, typeof all>();
  let total = 0;

  /** The counts of a caller in the current window. */
  const countsOf = ({ billedTo }: Caller): typeof all => {
    if (Date.now() - windowStart >= WINDOW_MS) {
      windowStart = Date.now();
      all = { attempts: 0, retries: 0 };
      byCaller.clear();
    }
    const known = byCaller.get(billedTo);
    if (known) return known;
    const counts = { attempts: 0, retries: 0 };
    byCaller.set(billedTo, counts);
    return counts;
  };

  const isUsedUp = ({ attempts, retries }: typeof all, least: number): boolean =>
    retries >= Math.max(least, attempts * RETRY_SHARE);

  const takeRetry = (caller: Caller): boolean => {
    const own = countsOf(caller);
    if (isUsedUp(own, MIN_RETRIES.caller) || isUsedUp(all, MIN_RETRIES.all)) return false;
    own.retries++;
    all.retries++;
    total++;
    return true;
  };

  return {
    /** Number of retries with backoff since the start. */
    total: () => total,
    /** Counts an attempt to send a request, retry or not. */
    recordAttempt: (caller: Caller) => {
      countsOf(caller).attempts++;
      all.attempts++;
    },
    /** The pause before the next attempt, in milliseconds; null if a retry cannot help or would be too late. */
    pauseAfter: (
      error: unknown,
      tried: number,
      { deadline }: Pick<Lifetime, "deadline">,
      caller: Caller,
    ): number | null => {
      const inTime = (ms: number) => (Date.now() + ms < deadline ? ms : null);
      const requestedMs = requestedPauseMs(error) ?? 0;
      // Known servers throttle in normal operation, so a read waits for every pause that a server requests. A requested pause of 0 seconds
      // allows one retry.
      if (throttledMs(error) !== null) {
        const helps = requestedMs > 0 ? requestedMs < MAX_RETRY_AFTER_SECONDS * 1000 : tried === 1;
        return helps && inTime(requestedMs) !== null ? 0 : null;
      }
      const mayRetry = retryOf(error) === "with backoff" && tried <= maxRetries;
      const pauseMs = inTime(Math.max(requestedMs, backoffMs(tried)));
      return mayRetry && requestedMs <= MAX_PAUSE_MS && pauseMs !== null && takeRetry(caller)
        ? pauseMs
        : null;
    },
  };
}

const backoffMs = (attempts: number): number =>
  Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1));

/** The pause that `Retry-After` requests, in milliseconds; null without this header. */
function requestedPauseMs(error: unknown): number | null {
  const { retryAfterSeconds } = error instanceof GatewayError ? error.details : {};
  return retryAfterSeconds === undefined ? null : retryAfterSeconds * 1000;
}

/** The pause that the service requests when it throttles a request, in milliseconds; null if the request was not throttled. */
export const throttledMs = (error: unknown): number | null =>
  retryOf(error) === "after `Retry-After`" ? requestedPauseMs(error) : null;
