import { type UpstreamHealth, GatewayError } from "../../errors.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/** The circuit opens when half of at least 20 requests within 10 seconds fail. Then the service is probed at most every 5 seconds. */
const MIN_REQUESTS = 20;
const FAILURE_RATE = 0.5;
const PAUSE_MS = 5_000;

/** The window moves by half of its length. Each half holds at most 100 callers, 100 routes and 100 paths. */
const HALF_MS = 5_000;
const MAX_ORIGINS = 100;

/**
 * While some requests succeed, the circuit opens only if at least five callers, five routes and five paths fail, and at least half of
 * each. Envoy's outlier detection also requires five hosts. If fewer fail, the cause is not the whole service, but for example a dead
 * endpoint or a record that crashes its handler.
 */
const MIN_FAILING = 5;

/** The indexes of callers, routes and paths. */
const ORIGINS = [0, 1, 2];
const [CALLERS = 0] = ORIGINS;

/** The keys of a probe's caller, route and path. */
const PROBE = ["probe", "probe", "probe"];

const CIRCUIT_OPEN = "The service keeps failing. The gateway pauses requests to it for a moment.";

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

interface CircuitBreakerSettings {
  /** Milliseconds since any fixed point. Never decreases. */
  readonly now: () => number;
  /** Resolves with whether the service is up, within `PAUSE_MS`. `isFirst`: so far few callers, perhaps only this one, have failed. */
  readonly probe: (call: UpstreamCall, isFirst: boolean) => Promise<boolean>;
}

/** Opens half of a window. `latest`: for each caller, each route and each path, whether its latest request failed. */
const openHalf = () => ({ requests: 0, failures: 0, latest: ORIGINS.map(() => new Map<string, boolean>()) });

/**
 * Creates the circuit breaker of the service. Own code, because cockatiel counts a disconnected caller as a success, probes with a caller's
 * request, which ends when the caller leaves, and lets a single caller cause the whole failure rate.
 */
export function createCircuitBreaker({ now, probe }: CircuitBreakerSettings) {
  let [half, before] = [openHalf(), openHalf()];
  let halfEnd = Number.NEGATIVE_INFINITY;
  /** When the next probe may begin; null while the circuit is closed. */
  let probeAt: number | null = null;
  /** Resolves when the pending probe ends; null if none is pending. */
  let probing: Promise<void> | null = null;
  /** Whether only a few callers have failed. Requests of other callers are then rejected only if a probe fails as well. */
  let isSuspected = false;
  /** Incremented when the circuit opens or closes. Failures of requests from an earlier generation do not count. */
  let generation = 0;

  const switchTo = (nextProbeAt: number | null): void => {
    probeAt = nextProbeAt;
    generation++;
    [half, before] = [openHalf(), openHalf()];
  };

  /** Counts the callers, routes or paths (by their index in `ORIGINS`): all of them, and the ones whose latest request failed. */
  const latestOf = (index: number) => {
    const all = [...new Map([...(before.latest[index] ?? []), ...(half.latest[index] ?? [])]).values()];
    return { all: all.length, failing: all.filter((hasFailed) => hasFailed).length };
  };

  const isWidespread = (index: number): boolean => {
    const { all, failing } = latestOf(index);
    return failing === all || (failing >= MIN_FAILING && failing >= all * FAILURE_RATE);
  };

  const probeFor = async (call: UpstreamCall): Promise<void> => {
    // The pause starts together with the probe, so a probe without a response does not extend the pause.
    const nextProbeAt = now() + PAUSE_MS;
    const isFirst = isSuspected;
    isSuspected = false;
    const isUp = await probe(call, isFirst);
    probing = null;
    switchTo(isUp ? null : nextProbeAt);
    // The probe counts as a success, so that a few failing callers cannot reopen the circuit while the service is known to be up.
    if (isUp) count(PROBE, false);
  };

  const count = (origin: readonly string[], hasFailed: boolean): void => {
    const lateMs = now() - halfEnd;
    if (lateMs >= 0) {
      [half, before] = [openHalf(), lateMs < HALF_MS ? half : openHalf()];
      halfEnd = now() + HALF_MS;
    }
    half.latest.forEach((latest, index) => {
      const key = origin[index] ?? "";
      const known = latest.get(key);
      if (known !== hasFailed && (known !== undefined || latest.size < MAX_ORIGINS))
        latest.set(key, hasFailed);
    });
    half.requests++;
    if (hasFailed) half.failures++;
  };

  return {
    /** Admits a request and returns its generation. Throws `GatewayError` unless the circuit is closed. */
    enter: (): number => {
      if (probeAt === null) return generation;
      throw new GatewayError("UPSTREAM_UNAVAILABLE", CIRCUIT_OPEN, { retryAfterSeconds: PAUSE_MS / 1000 });
    },
    /** Records the health of the service that the outcome of a request implies. `origin`: the keys of its caller, route and path. */
    leave: (begun: number, origin: readonly string[], shown: UpstreamHealth): void => {
      if (shown === "unknown" || probeAt !== null) return;
      const hasFailed = shown === "down";
      // Only failures of earlier generations are ignored. A success shows that the service is up, however long ago the request was sent.
      if (hasFailed && begun !== generation) return;
      count(origin, hasFailed);
      if (!hasFailed) return;
      const total = half.requests + before.requests;
      const isOutage = total >= MIN_REQUESTS && half.failures + before.failures >= total * FAILURE_RATE;
      if (!isOutage || !ORIGINS.every(isWidespread)) return;
      isSuspected = latestOf(CALLERS).failing < MIN_FAILING;
      switchTo(isSuspected ? now() : now() + PAUSE_MS);
    },
    /** Whether requests wait for the outcome of a probe instead of failing. */
    isHalfOpen: (): boolean => probeAt !== null && (probing !== null || now() >= probeAt),
    /** Starts a probe unless one is pending. Resolves when its outcome is known. */
    probe: (call: UpstreamCall): Promise<void> => (probing ??= probeFor(call)),
    circuit: () => (probeAt === null ? ("closed" as const) : ("open" as const)),
  };
}
