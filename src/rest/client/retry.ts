import { retryOf, UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";

/** At most a tenth of the requests of the last 10 seconds may be retries; a quiet gateway may make ten. */
const RETRY_SHARE = 0.1;
const MIN_RETRIES = 10;
const WINDOW_MS = 10_000;

/** Longest pause before a retry with backoff, in milliseconds. A service that asks for more is not waited for. */
const MAX_PAUSE_MS = 2_000;
const FIRST_PAUSE_MS = 100;

/** What was tried of a request so far. */
interface Tried {
  readonly attempts: number;
  /** How many of its failures were throttled by the service. */
  readonly throttled: number;
}

export interface Retries {
  /** Counts an attempt of any request. */
  readonly count: () => void;
  /** How long to pause before the next attempt, in milliseconds; null when none can help, or not in time. */
  readonly pauseAfter: (error: unknown, tried: Tried, scope: RequestScope) => number | null;
}

/** Decides which reads are tried again. One for all callers: together they may not multiply the load on a failing service. */
export function createRetries(maxRetries: number): Retries {
  let windowStart = Date.now();
  let attempts = 0;
  let retries = 0;

  const startWindow = (): void => {
    if (Date.now() - windowStart < WINDOW_MS) return;
    windowStart = Date.now();
    attempts = 0;
    retries = 0;
  };

  const takeRetry = (): boolean => {
    startWindow();
    if (retries >= Math.max(MIN_RETRIES, attempts * RETRY_SHARE)) return false;
    retries++;
    return true;
  };

  return {
    count: () => {
      startWindow();
      attempts++;
    },
    pauseAfter: (error, tried, scope) => {
      const inTime = (ms: number) => (Date.now() + ms < scope.deadline ? ms : null);
      const askedMs = askedPauseMs(error);
      // These servers throttle as a matter of course: the pause that they ask for is made, once.
      if (isThrottled(error)) return tried.throttled > 1 ? null : inTime(askedMs);
      const mayRetry = retryOf(error) === "with backoff" && tried.attempts <= maxRetries;
      if (!mayRetry || askedMs > MAX_PAUSE_MS || inTime(askedMs) === null || !takeRetry()) return null;
      return inTime(Math.max(askedMs, backoffMs(tried.attempts)));
    },
  };
}

/** Exponential backoff with full jitter. */
const backoffMs = (attempts: number): number =>
  Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1));

/** How long the service asks not to be asked, in milliseconds. */
const askedPauseMs = (error: unknown): number =>
  error instanceof UpstreamError ? (error.facts.retryAfterSeconds ?? 0) * 1000 : 0;

/** Whether the service took no more requests and said when to come again. */
export const isThrottled = (error: unknown): boolean =>
  retryOf(error) === "when told" &&
  error instanceof UpstreamError &&
  error.facts.retryAfterSeconds !== undefined;
