import { type ServiceState, UpstreamError } from "../../errors.ts";

/** Opens when at least half of at least 20 requests within 10 seconds failed, and lets one through after 5. */
const WINDOW_SECONDS = 10;
const MIN_REQUESTS = 20;
const FAILED_SHARE = 0.5;
const PAUSE_MS = 5_000;

/** Maximum callers recorded per second. */
const MAX_CALLERS = 100;

export interface Breaker {
  /** Admits a request and returns its generation. Throws `UpstreamError` while the circuit is open. */
  readonly enter: () => number;
  /** Records what the outcome of a request shows about the service. */
  readonly leave: (generation: number, callerKey: string, shown: ServiceState) => void;
  /** Half-open while one request probes the service. */
  readonly circuit: () => "closed" | "half-open" | "open";
}

interface Second {
  /** Seconds since 1970. */
  readonly at: number;
  failures: number;
  total: number;
  /** Callers with failed and with successful requests, up to `MAX_CALLERS` each. */
  readonly failed: Set<string>;
  readonly succeeded: Set<string>;
}

/**
 * Creates the circuit breaker of the service. Own code: cockatiel counts a disconnected caller as a success and makes all
 * others wait for the probe, and its sampling keeps old windows while there is no traffic.
 */
export function createBreaker(): Breaker {
  let recent: Second[] = [];
  let openedAt: number | null = null;
  let isProbing = false;
  /** Incremented when the circuit opens or closes: outcomes of earlier requests do not count after that. */
  let generation = 0;

  const open = (at: number | null): void => {
    openedAt = at;
    recent = [];
    generation++;
  };

  /** Whether all failures are of one caller while others succeed: then its requests are the cause, not the service. */
  const isSingleCaller = (): boolean => {
    const failed = new Set(recent.flatMap((second) => [...second.failed]));
    const [only] = failed;
    return (
      failed.size === 1 &&
      recent.some(({ succeeded }) => [...succeeded].some((callerKey) => callerKey !== only))
    );
  };

  const currentSecond = (): Second => {
    const at = Math.floor(Date.now() / 1000);
    const last = recent.at(-1);
    if (last?.at === at) return last;
    const second: Second = { at, failures: 0, total: 0, failed: new Set(), succeeded: new Set() };
    recent = [...recent.filter((each) => each.at > at - WINDOW_SECONDS), second];
    return second;
  };

  const count = (callerKey: string, hasFailed: boolean): void => {
    const second = currentSecond();
    second.total++;
    const callers = hasFailed ? second.failed : second.succeeded;
    if (callers.size < MAX_CALLERS) callers.add(callerKey);
    if (!hasFailed) return;
    second.failures++;
    const total = recent.reduce((sum, each) => sum + each.total, 0);
    const failures = recent.reduce((sum, each) => sum + each.failures, 0);
    if (total >= MIN_REQUESTS && failures >= total * FAILED_SHARE && !isSingleCaller()) open(Date.now());
  };

  return {
    enter: () => {
      if (openedAt !== null) {
        if (isProbing || Date.now() - openedAt < PAUSE_MS) throw circuitOpen();
        isProbing = true;
      }
      return generation;
    },
    leave: (begun, callerKey, shown) => {
      if (begun !== generation) return;
      // While the circuit is open, only the probe has this generation.
      isProbing = false;
      if (shown === "unknown") return;
      if (openedAt === null) count(callerKey, shown === "down");
      else open(shown === "down" ? Date.now() : null);
    },
    circuit: () => (openedAt === null ? "closed" : isProbing ? "half-open" : "open"),
  };
}

const circuitOpen = () =>
  new UpstreamError(
    "UPSTREAM_UNAVAILABLE",
    "The service failed again and again and is not asked for a moment.",
    { retryAfterSeconds: PAUSE_MS / 1000 },
  );
