import { addressShare, type Caller, type CallerRegistry, type PerCaller } from "../../callers/callers.ts";
import { CallerQueues, FairQueue } from "../../callers/fair-queue.ts";
import { GatewayError, healthImpliedBy, OVERLOADED } from "../../errors.ts";
import type { Clock } from "../../util/clock.ts";
import type { RateLimit } from "../../util/sliding-window.ts";
import { AdaptiveLimit, MIN_LIMIT } from "./adaptive-limit.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { endedError } from "./failure.ts";
import { RateLimiter } from "./rate-limiter.ts";
import type { RequestFormat } from "./request.ts";
import { throttledMs } from "./retry.ts";
import { QueuedCall, type UpstreamCall, type WaitCounts } from "./upstream-call.ts";

/** The share of the concurrency that is reserved for verified callers, and for callers that run few requests. */
const RESERVED_SHARE = 1 / 8;

export interface ConcurrencySettings {
  /** Maximum concurrent upstream requests, over all callers. A download counts until its response begins. */
  readonly connections: number;
  /** Maximum concurrent upstream requests of one caller. */
  readonly connectionsPerCaller: number;
  /** Maximum concurrent upstream requests at the start, before their latency shows the capacity of the service. */
  readonly initialConnections: number;
  /** Maximum number of waiting upstream requests. New operations are rejected while more wait. */
  readonly queue: number;
}

interface AdmissionSettings extends ConcurrencySettings {
  readonly clock: Clock;
  readonly callers: CallerRegistry;
  readonly requestFormat: Pick<RequestFormat, "limitOf">;
  readonly breaker: CircuitBreaker;
}

/** The state when a request was sent. */
export interface SentRequest {
  /** When it was sent, in milliseconds by the clock. */
  readonly at: number;
  /** Requests in flight, including this one. */
  readonly inFlight: number;
  /** The generation of the circuit breaker. */
  readonly generation: number;
}

/**
 * The only stage in which upstream requests wait, before anything large is allocated for them. They wait in one fair queue (gateway,
 * caller, rate limit, operation) until the rate limit of their token, the concurrency limits and the circuit breaker admit them. Within an
 * operation, the request with the highest priority goes first. The reason to wait makes no difference: each waiting request counts, callers
 * are served fairly, a request without consumers leaves the queue, and a full queue sheds new operations. Own code,
 * because p-queue, bottleneck and cockatiel are FIFO or have fixed keys, so one caller with many requests starves the others. They also
 * keep the requests of disconnected callers.
 */
export class UpstreamAdmission {
  readonly #settings: AdmissionSettings;
  readonly #limit: AdaptiveLimit;
  readonly #root: FairQueue<QueuedCall>;
  readonly #unverified: FairQueue<QueuedCall>;
  readonly #queues: CallerQueues<QueuedCall>;
  readonly #rateLimiters: PerCaller<Map<RateLimit | null, RateLimiter>>;
  readonly #waiting: WaitCounts = { RATE_LIMIT: 0, CONCURRENCY: 0, CIRCUIT: 0 };
  #shed = 0;
  #isScheduled = false;
  #isServing = false;

  constructor(settings: AdmissionSettings) {
    const { connections, connectionsPerCaller, initialConnections, callers } = settings;
    this.#settings = settings;
    this.#limit = new AdaptiveLimit({ initial: initialConnections, max: connections });
    const share = Math.min(1, connectionsPerCaller / connections);
    const all = () => this.#limit.value;
    const perCaller = () => Math.max(1, Math.floor(all() * share));
    const reserved = () => Math.floor(all() * RESERVED_SHARE);
    // A few callers whose requests hang must leave connections to others, unless one caller may use them all.
    const kept = () => Math.min(reserved(), all() - perCaller());
    // Requests that hang must not block other callers when the limit is reduced below their number.
    const burst = () => Math.min(MIN_LIMIT, connections - all());
    this.#root = new FairQueue<QueuedCall>(null, { concurrency: all, guaranteed: kept, burst });
    // The upstream service may be slow to reject a token, so requests with invented tokens must leave connections to verified callers.
    this.#unverified = new FairQueue(this.#root, { concurrency: () => all() - reserved(), cost: 1 });
    this.#queues = new CallerQueues(
      callers,
      this.#root,
      this.#unverified,
      { concurrency: perCaller, cost: 1 },
      { concurrency: () => addressShare(all(), perCaller()), cost: 1 },
    );
    this.#rateLimiters = callers.perCaller(() => new Map());
  }

  /** Resolves when a call is admitted. Rejects if it cannot be admitted in time, and when all its consumers have disconnected. */
  acquire(call: UpstreamCall): Promise<QueuedCall> {
    return new Promise((resolve, reject) => {
      const { lifetime } = call.consumer;
      const onEnd = () => this.cancel(queued);
      const queued = new Acquisition(call, (error) => {
        lifetime.offEnd(onEnd);
        if (error) reject(error);
        else resolve(queued);
      });
      this.enqueue(queued);
      if (queued.isWaiting) lifetime.onEnd(onEnd);
    });
  }

  /**
   * Dispatches a call when it is admitted, possibly at once. Rejects a call that cannot be admitted before its deadline, or whose operation
   * has too many waiting calls. Sheds load if the queue is full.
   */
  enqueue(queued: QueuedCall): void {
    const { request, requester, consumer } = queued.call;
    const rateLimiter = this.#rateLimiterOf(queued.call);
    const isLimited = rateLimiter !== null && request.endpoint.method === "GET";
    const callerQueue = this.#queues.of(this.#callerOf(queued.call));
    const parent = isLimited
      ? rateLimiter.queueIn(callerQueue)[requester.isBackground ? "polls" : "operations"]
      : callerQueue;
    queued.queue = requester.queueIn(parent);
    try {
      // Load is shed only before the first call of an operation.
      if (!requester.hasBegun && this.shedLoad(requester.scope.caller))
        throw new GatewayError("SERVICE_OVERLOADED", OVERLOADED);
      requester.hasBegun = true;
      if (consumer.lifetime.ended) throw endedError(request.endpoint, consumer.lifetime, false);
      if (isLimited) rateLimiter.checkDeadline(queued.call);
      requester.checkWaiting(queued.queue.waiting);
    } catch (error) {
      // Safe: only errors are thrown.
      return queued.refuse(error as Error);
    }
    if (isLimited) rateLimiter.update();
    const isHalfOpen = this.#settings.breaker.isHalfOpen();
    if (!isHalfOpen && queued.queue.tryStart()) return this.#admit(queued);
    queued.wait(isHalfOpen ? "CIRCUIT" : "CONCURRENCY", this.#waiting);
    if (isLimited) rateLimiter.update();
    if (parent.isBlocked) queued.waitForRateLimit();
    this.#serveSoon();
  }

  /** Rejects a call that has not been dispatched, because all its consumers have disconnected or reached their deadline. */
  cancel(queued: QueuedCall): void {
    const { request, consumer } = queued.call;
    const { lifetime } = consumer;
    // A call that waited for the rate limit until its deadline fails with the error of the limit, as if the service had rejected it.
    const isLate = queued.waitReason === "RATE_LIMIT" && lifetime.ended === "deadline";
    const late = isLate ? this.#rateLimiterOf(queued.call)?.lateFor(queued.call) : null;
    queued.reject(late ?? endedError(request.endpoint, lifetime, false));
  }

  /** Must be called before an admitted call is sent. Throws `GatewayError` if the circuit or, for a command, the rate limit forbids it. */
  beginSend({ call }: QueuedCall): SentRequest {
    const { breaker, clock } = this.#settings;
    const rateLimiter = this.#rateLimiterOf(call);
    if (call.request.endpoint.method !== "GET") rateLimiter?.checkSpent(call);
    const generation = breaker.enter();
    rateLimiter?.recordSent();
    return { at: clock.now(), inFlight: this.#root.running, generation };
  }

  /** Must be called once for each admitted call, at its end. `sent` is null if it was not sent, and `error` is null if it succeeded. */
  release({ call, queue }: QueuedCall, sent: SentRequest | null, error: unknown): void {
    const { request, requester } = call;
    if (sent) {
      const { breaker, clock } = this.#settings;
      const health = error ? healthImpliedBy(error) : "up";
      breaker.leave(
        sent.generation,
        [requester.scope.caller.billedTo.key, request.endpoint.path, request.path],
        health,
      );
      this.#limit.observe({
        endpoint: request.endpoint,
        sentAt: sent.at,
        ms: clock.now() - sent.at,
        health,
        inFlight: sent.inFlight,
        isLimiting: queue?.isHalfUsed() ?? false,
      });
    }
    // The permits are released only after the outcome is recorded, because that outcome may delay or reject the next call.
    this.#rateLimiterOf(call)?.release(sent ? (throttledMs(error) ?? "allowed") : "unsent");
    queue?.release();
    this.#serve();
  }

  /** How long the rate limit of the call's token would delay a new request, in milliseconds. */
  waitMs(call: UpstreamCall): number {
    return this.#rateLimiterOf(call)?.waitMs(false) ?? 0;
  }

  /** Returns true, and counts the rejection, if the queue is full and the caller has used up its share of the queue. */
  shedLoad(caller: Caller): boolean {
    if (!this.#exceedsShare(caller)) return false;
    // Some requests may only be waiting for the end of this tick.
    this.#serve();
    if (!this.#exceedsShare(caller)) return false;
    this.#shed++;
    return true;
  }

  stats() {
    return {
      running: this.#root.running,
      waiting: this.#waiting,
      shed: this.#shed,
      concurrencyLimit: this.#limit.value,
    };
  }

  #admit(queued: QueuedCall): void {
    this.#rateLimiterOf(queued.call)?.admit();
    queued.admit();
  }

  #serve(): void {
    // `release` calls this method again when an admitted call fails synchronously. The running loop then continues with the next call.
    if (this.#isServing) return;
    this.#isServing = true;
    try {
      while (this.#root.isReady()) {
        const { breaker } = this.#settings;
        const next = breaker.isHalfOpen() && this.#root.peek();
        if (next) return void breaker.probe(next.call).then(() => this.#serve());
        this.#admit(this.#root.dequeue());
      }
    } finally {
      this.#isServing = false;
    }
  }

  /** Serves at the end of this tick, when all requests of the tick are known and can be ordered. */
  #serveSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#serve();
    });
  }

  /** The caller that belongs to the token of a call. After a sign-in, it is not the caller of the operation. */
  #callerOf({ request: { token }, requester: { scope } }: UpstreamCall): Caller {
    const isOwn = token === undefined || token === null || token === scope.token;
    return isOwn ? scope.caller : this.#settings.callers.withToken(token, scope.caller.addressCaller);
  }

  /** The rate limiter of the token of a call; null without a token. */
  #rateLimiterOf(call: UpstreamCall): RateLimiter | null {
    const { request, requester } = call;
    if ((request.token === undefined ? requester.scope.token : request.token) === null) return null;
    const { clock, requestFormat } = this.#settings;
    const own = this.#rateLimiters.of(this.#callerOf(call));
    const limit = requestFormat.limitOf(request.endpoint);
    const rateLimiter = own.get(limit) ?? new RateLimiter(clock, limit, () => this.#serve());
    own.set(limit, rateLimiter);
    return rateLimiter;
  }

  /** Whether a caller has used up its share of a full queue. Billed callers have equal shares; callers of one address divide theirs. */
  #exceedsShare(caller: Caller): boolean {
    if (this.#root.waiting < this.#settings.queue) return false;
    const accounts = this.#root.activeChildCount + Math.max(0, this.#unverified.activeChildCount - 1);
    const account = this.#queues.of(caller.billedTo);
    const share = this.#settings.queue / accounts;
    if (account.waiting < share) return false;
    return caller === caller.billedTo || this.#queues.of(caller).waiting >= share / account.activeChildCount;
  }
}

/** A call whose admission settles a promise. */
class Acquisition extends QueuedCall {
  readonly call: UpstreamCall;
  readonly #settle: (error: Error | null) => void;

  constructor(call: UpstreamCall, settle: (error: Error | null) => void) {
    super();
    this.call = call;
    this.#settle = settle;
  }

  get priority(): number {
    return this.call.consumer.priority;
  }

  dispatch(): void {
    this.#settle(null);
  }

  refuse(error: Error): void {
    this.#settle(error);
  }
}
