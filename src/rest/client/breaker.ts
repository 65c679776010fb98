import { type ServiceState, UpstreamError } from "../../errors.ts";
import type { ScopedRequest } from "./request.ts";

/** Opens when at least half of at least 20 requests within 10 seconds failed, and may probe the service every 5. */
const WINDOW_SECONDS = 10;
const MIN_REQUESTS = 20;
const FAILED_SHARE = 0.5;
const PAUSE_MS = 5_000;

/** Maximum callers recorded per second. */
const MAX_CALLERS = 100;

export type Breaker = ReturnType<typeof createBreaker>;

interface BreakerSettings {
  /** Milliseconds since any fixed point; never goes back. */
  readonly now: () => number;
  /** Asks the service on behalf of the circuit, for less than `PAUSE_MS`. Calls back once with whether it is up. */
  readonly probe: (asker: ScopedRequest, onEnd: (isUp: boolean) => void) => void;
}

interface Second {
  /** Seconds since the fixed point of the clock. */
  readonly at: number;
  failures: number;
  total: number;
  /** Callers with failed and with successful requests, up to `MAX_CALLERS` each. */
  readonly failed: Set<string>;
  readonly succeeded: Set<string>;
}

/**
 * Creates the circuit breaker of the service. Own code: cockatiel counts a disconnected caller as a success, its probe is
 * the request of a caller and ends with it, and its sampling keeps old windows while there is no traffic.
 */
export function createBreaker({ now, probe }: BreakerSettings) {
  let recent: Second[] = [];
  /** When the next probe may begin; null while the circuit is closed. */
  let probeAt: number | null = null;
  let isProbing = false;
  /** Whoever waits for the probe. */
  let waiting = new Set<() => void>();
  /** Incremented when the circuit opens or closes: outcomes of earlier requests do not count after that. */
  let generation = 0;

  const turn = (nextProbeAt: number | null): void => {
    probeAt = nextProbeAt;
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
    const at = Math.floor(now() / 1000);
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
    if (total >= MIN_REQUESTS && failures >= total * FAILED_SHARE && !isSingleCaller())
      turn(now() + PAUSE_MS);
  };

  return {
    /** Admits a request and returns its generation. Throws `UpstreamError` unless the circuit is closed. */
    enter: (): number => {
      if (probeAt !== null) throw circuitOpen();
      return generation;
    },
    /** Records what the outcome of a request shows about the service. */
    leave: (begun: number, callerKey: string, shown: ServiceState): void => {
      if (begun === generation && shown !== "unknown") count(callerKey, shown === "down");
    },
    /** Whether requests wait for the outcome of a probe instead of failing. */
    isHalfOpen: (): boolean => probeAt !== null && (isProbing || now() >= probeAt),
    /** Begins a probe unless one is under way. Calls back when its outcome is known. */
    wait: (asker: ScopedRequest, resume: () => void): void => {
      waiting.add(resume);
      if (isProbing) return;
      isProbing = true;
      // Counted from the beginning: the silence of a service that hangs is a part of the pause.
      const nextProbeAt = now() + PAUSE_MS;
      probe(asker, (isUp) => {
        isProbing = false;
        turn(isUp ? null : nextProbeAt);
        const resumed = waiting;
        waiting = new Set();
        for (const callback of resumed) callback();
      });
    },
    circuit: () => (probeAt === null ? ("closed" as const) : ("open" as const)),
  };
}

const circuitOpen = () =>
  new UpstreamError(
    "UPSTREAM_UNAVAILABLE",
    "The service failed again and again and is not asked for a moment.",
    { retryAfterSeconds: PAUSE_MS / 1000 },
  );
