import type { UpstreamHealth } from "../../errors.ts";

/** Lower bound of the limit, because any service can serve a few callers concurrently. A lower maximum takes precedence. */
export const MIN_LIMIT = 8;

/** A request counts as sent without load if at most this many requests were in flight, including itself. */
const UNLOADED = 4;

/** A mean latency above 1.5 times the latency without load plus 100 ms is high. */
const TOLERANCE = 1.5;
const SLACK_MS = 100;

/** Weights of a new latency in the two moving averages: over all requests, and over requests sent without load. */
const WEIGHT = 1 / 16;
const UNLOADED_WEIGHT = 1 / 32;

/** A failure counts only if no request has succeeded for this time, in milliseconds. */
const OUTAGE_MS = 1_000;

const AFTER_HIGH_LATENCY = 0.8;
const AFTER_FAILURE = 0.5;

/** Moving averages of the latencies of one endpoint, in milliseconds, and the number of latencies. */
interface Latency {
  mean: number;
  unloaded: number;
  count: number;
}

/** A request that has ended. Times are in milliseconds by the same clock. */
export interface Observation {
  /** Each endpoint has averages of its own, because latencies of endpoints differ. */
  readonly endpoint: object;
  readonly sentAt: number;
  readonly ms: number;
  readonly health: UpstreamHealth;
  /** Requests in flight when it was sent, including itself. */
  readonly inFlight: number;
  /** Whether the limit, and not the demand, determined the number of requests. */
  readonly isLimiting: boolean;
}

/**
 * An adaptive concurrency limit, like those of Netflix' concurrency-limits and Envoy. It grows while the latency stays near the latency
 * without load. It is multiplied by 0.8 when the average latency is high, and halved after a timeout, a reset or a 5xx while nothing
 * succeeds. As in TCP, it doubles at first, and after the first sign of overload it grows by one per round of requests. Own code, because
 * the packages for Node.js limit the incoming requests of a process by its event loop, and distinguish neither endpoints nor callers.
 */
export class AdaptiveLimit {
  readonly #max: number;
  readonly #min: number;
  #limit: number;
  /** Whether no sign of overload has been seen yet. */
  #isStarting = true;
  /** When the limit was last reduced. Requests that were sent earlier do not reduce it again. */
  #reducedAt = Number.NEGATIVE_INFINITY;
  readonly #latencies = new Map<object, Latency>();
  /** The time of the last success. */
  #succeededAt = Number.NEGATIVE_INFINITY;

  /** `initial`: the limit at the start. */
  constructor({ initial, max }: { readonly initial: number; readonly max: number }) {
    this.#max = max;
    this.#min = Math.min(MIN_LIMIT, max);
    this.#limit = Math.min(initial, max);
  }

  get value(): number {
    return Math.floor(this.#limit);
  }

  observe({ endpoint, sentAt, ms, health, inFlight, isLimiting }: Observation): void {
    if (health === "unknown") return;
    if (health === "down") {
      // If other requests succeed, the service is up: one record, endpoint or caller causes the failure.
      const since = Math.min(sentAt, sentAt + ms - OUTAGE_MS);
      if (this.#succeededAt < since) this.#reduce(AFTER_FAILURE, sentAt, ms);
      return;
    }
    this.#succeededAt = sentAt + ms;
    const isUnloaded = inFlight <= UNLOADED || this.value === this.#min;
    const latency = this.#latencies.get(endpoint);
    if (!latency) {
      // Latencies are ignored until the endpoint's latency without load is known.
      if (isUnloaded) this.#latencies.set(endpoint, { mean: ms, unloaded: ms, count: 1 });
      return;
    }
    const high = latency.unloaded * TOLERANCE + SLACK_MS;
    // An outlier is capped, so that a single one raises the mean only slightly.
    const counted = Math.min(ms, 2 * high);
    const first = 1 / ++latency.count;
    latency.mean += (counted - latency.mean) * Math.max(WEIGHT, first);
    if (isUnloaded) latency.unloaded += (counted - latency.unloaded) * Math.max(UNLOADED_WEIGHT, first);
    if (latency.mean > high) {
      this.#reduce(AFTER_HIGH_LATENCY, sentAt, ms);
      latency.mean = latency.unloaded;
    } else if (isLimiting && ms <= high)
      this.#limit = Math.min(this.#max, this.#limit + (this.#isStarting ? 1 : 1 / this.#limit));
  }

  /** Reduces the limit, at most once per round of requests. */
  #reduce(factor: number, sentAt: number, ms: number): void {
    if (sentAt < this.#reducedAt) return;
    this.#isStarting = false;
    this.#reducedAt = sentAt + ms;
    this.#limit = Math.max(this.#min, this.#limit * factor);
  }
}
