import { type ServiceState, Failure } from "../../errors.ts";
import type { Order } from "./order.ts";

/** Opens when at least half of at least 20 requests in a window of 10 seconds failed, and may probe the service every 5. */
const WINDOW_MS = 10_000;
const MIN_REQUESTS = 20;
const FAILED_SHARE = 0.5;
const PAUSE_MS = 5_000;

/** Maximum callers recorded in a window. */
const MAX_CALLERS = 100;

const OPEN = "The service failed again and again and is not asked for a moment.";

export type Breaker = ReturnType<typeof createBreaker>;

interface BreakerSettings {
  /** Milliseconds since any fixed point; never goes back. */
  readonly now: () => number;
  /** Asks the service on behalf of the circuit, for less than `PAUSE_MS`. Resolves with whether it is up. */
  readonly probe: (order: Order) => Promise<boolean>;
}

/**
 * Creates the circuit breaker of the service. Own code: cockatiel counts a disconnected caller as a success, and its probe is
 * the request of a caller and ends with it.
 */
export function createBreaker({ now, probe }: BreakerSettings) {
  let windowEnd = Number.NEGATIVE_INFINITY;
  let [failures, total] = [0, 0];
  /** Callers with failed and with successful requests, up to `MAX_CALLERS` each. */
  let [failed, succeeded] = [new Set<string>(), new Set<string>()];
  /** When the next probe may begin; null while the circuit is closed. */
  let probeAt: number | null = null;
  /** Resolves with the probe under way; null while there is none. */
  let probing: Promise<void> | null = null;
  /** Incremented when the circuit opens or closes: outcomes of earlier requests do not count after that. */
  let generation = 0;

  const startWindow = (): void => {
    windowEnd = now() + WINDOW_MS;
    [failures, total] = [0, 0];
    [failed, succeeded] = [new Set(), new Set()];
  };

  const switchTo = (nextProbeAt: number | null): void => {
    probeAt = nextProbeAt;
    generation++;
    startWindow();
  };

  /** Whether all failures are of one caller while others succeed: then its requests are the cause, not the service. */
  const isSingleCaller = (): boolean =>
    failed.size === 1 && [...succeeded].some((callerKey) => !failed.has(callerKey));

  const probeFor = async (order: Order): Promise<void> => {
    // Counted from the beginning: the silence of a service that hangs is a part of the pause.
    const nextProbeAt = now() + PAUSE_MS;
    const isUp = await probe(order);
    probing = null;
    switchTo(isUp ? null : nextProbeAt);
  };

  return {
    /** Admits a request and returns its generation. Throws `Failure` unless the circuit is closed. */
    enter: (): number => {
      if (probeAt === null) return generation;
      throw new Failure("UPSTREAM_UNAVAILABLE", OPEN, { retryAfterSeconds: PAUSE_MS / 1000 });
    },
    /** Records what the outcome of a request shows about the service. */
    leave: (begun: number, callerKey: string, shown: ServiceState): void => {
      if (begun !== generation || shown === "unknown") return;
      if (now() >= windowEnd) startWindow();
      total++;
      const callers = shown === "down" ? failed : succeeded;
      if (callers.size < MAX_CALLERS) callers.add(callerKey);
      if (shown === "up") return;
      failures++;
      if (total >= MIN_REQUESTS && failures >= total * FAILED_SHARE && !isSingleCaller())
        switchTo(now() + PAUSE_MS);
    },
    /** Whether requests wait for the outcome of a probe instead of failing. */
    isHalfOpen: (): boolean => probeAt !== null && (probing !== null || now() >= probeAt),
    /** Begins a probe unless one is under way. Resolves when its outcome is known. */
    probed: (order: Order): Promise<void> => (probing ??= probeFor(order)),
    circuit: () => (probeAt === null ? ("closed" as const) : ("open" as const)),
  };
}
