import { GatewayError } from "../../errors.ts";
import type { WaitReason } from "../../operation-trace.ts";
import type { MemoryAccount } from "../../callers/bounded-buffer.ts";
import type { MemoryReservation } from "../../callers/memory-budget.ts";
import { type Prioritized, FairQueue } from "../../callers/fair-queue.ts";
import type { EndReason, RequestScope } from "../../callers/request-scope.ts";
import type { UpstreamRequest } from "./request.ts";

/** The deadline of a call, and its cancellation. */
export interface Lifetime {
  /** Milliseconds since 1970. */
  readonly deadline: number;
  /** The reason for its end; null while it is active. */
  readonly ended: EndReason | null;
  /** Calls back once, at the end of the lifetime, or immediately if it has ended. */
  onEnd(callback: () => void): void;
  offEnd(callback: () => void): void;
}

/** The consumer of a response: a read that several operations share, or a single operation. Only shared reads wait for the rate limit. */
export interface Consumer extends Prioritized, MemoryAccount {
  readonly lifetime: Lifetime;
  /**
   * Rejects the subscribers whose deadline comes before the end of their wait for the rate limit. `msFor` returns that wait in
   * milliseconds, and `late` the error. Returns whether any subscriber remains.
   */
  rejectLate(msFor: (requester: Requester) => number, late: (requester: Requester) => Error): boolean;
  /** Counts a request that is about to be sent. Throws `GatewayError` if all consumers have reached their limit. */
  countRequest(): void;
  /** Makes the permits of its operations preemptible while it waits for the rate limit. */
  pause(): void;
  resume(): void;
}

export interface RequestLimits {
  /** Maximum concurrent upstream requests. */
  readonly concurrency: number;
  /** Maximum upstream requests in total. Retries do not count. */
  readonly requests: number;
  /** Whether the requester has low priority in the rate limit of its token, as subscriptions have. */
  readonly isBackground: boolean;
  /** Called for each request, including those above the maximum. */
  readonly onRequest?: () => void;
}

/**
 * Maximum waiting requests of an operation, as a multiple of the requests that it may send. Of the waiting requests, those with the highest
 * priority are sent. All others fail in one tick of the event loop, so there must not be thousands.
 */
const WAITING_FOR_EACH_REQUEST = 4;

/** A sender of requests: an operation, download or probe. It is itself the consumer of the responses of commands and downloads. */
export class Requester implements Consumer {
  readonly scope: RequestScope;
  readonly reservation: MemoryReservation;
  /** The queues of its waiting calls, one per parent queue. Usually there is one. */
  readonly #queues: { readonly parent: FairQueue<QueuedCall>; readonly queue: FairQueue<QueuedCall> }[] = [];
  readonly isBackground: boolean;
  readonly lifetime: Lifetime;
  readonly priority = 1;
  hasBegun = false;
  /** Whether one of its requests was rejected with 429. It then sends no further commands. */
  isThrottled = false;
  /** Number of its commands that timed out. */
  timeouts = 0;
  readonly #bounds: RequestLimits;
  /** Number of counted requests that may be sent. `#unsent`: number of rejected requests. */
  #requests = 0;
  #unsent = 0;
  #exceeded: GatewayError | null = null;

  constructor(scope: RequestScope, reservation: MemoryReservation, bounds: RequestLimits) {
    this.scope = scope;
    this.reservation = reservation;
    this.isBackground = bounds.isBackground;
    this.lifetime = scope;
    this.#bounds = bounds;
  }

  /** Returns the requester's own queue within a parent queue, and creates it first if necessary. */
  queueIn(parent: FairQueue<QueuedCall>): FairQueue<QueuedCall> {
    for (const each of this.#queues) if (each.parent === parent) return each.queue;
    const queue = new FairQueue(parent, { concurrency: () => this.#bounds.concurrency, cost: 1 });
    this.#queues.push({ parent, queue });
    return queue;
  }

  /** Returns false, because downloads are rejected instead of waiting for the rate limit. */
  rejectLate(): boolean {
    return false;
  }

  pause(): void {
    this.scope.pause();
  }

  resume(): void {
    this.scope.resume();
  }

  chargeMemory(bytes: number): void {
    this.reservation.charge(bytes);
  }

  /** Counts a request that is about to be sent. Throws `GatewayError` above the limit. */
  countRequest(): void {
    const { requests, onRequest } = this.#bounds;
    if (this.#requests >= requests) throw this.#rejectRequest();
    onRequest?.();
    this.#requests++;
  }

  /** Throws `GatewayError` if the maximum number of its requests are waiting. */
  checkWaiting(waiting: number): void {
    if (waiting >= WAITING_FOR_EACH_REQUEST * this.#bounds.requests) throw this.#rejectRequest();
  }

  /** Counts a rejected request. All rejected requests share one error, whose details report their final number. */
  #rejectRequest(): GatewayError {
    const { requests, onRequest } = this.#bounds;
    onRequest?.();
    this.#unsent++;
    const unsent = () => this.#unsent;
    return (this.#exceeded ??= new GatewayError(
      "REQUEST_LIMIT_EXCEEDED",
      `This operation needs more than ${requests} requests to the service; request less at once.`,
      {
        get unsentRequests() {
          return unsent();
        },
      },
    ));
  }
}

/** An upstream request with its requester and its consumer. */
export interface UpstreamCall<Answer = unknown> {
  readonly request: UpstreamRequest<Answer>;
  readonly requester: Requester;
  readonly consumer: Consumer;
}

/** An upstream call before and after its admission. A waiting read needs no other object, because thousands may wait. */
export abstract class QueuedCall implements Prioritized {
  abstract readonly call: UpstreamCall;
  abstract readonly priority: number;
  /** The queue in which the call waits or runs; null before it is enqueued. */
  queue: FairQueue<QueuedCall> | null = null;
  isWaiting = false;
  waitReason: WaitReason | null = null;
  #waiting: WaitCounts | null = null;

  /** Called when it is admitted. */
  abstract dispatch(): void;

  /** Called when it will not be admitted. */
  abstract refuse(error: Error): void;

  /** Enqueues it. `waiting` counts the waiting calls. */
  wait(reason: WaitReason, waiting: WaitCounts): void {
    this.isWaiting = true;
    this.waitReason = reason;
    this.#waiting = waiting;
    waiting[reason]++;
    this.queue?.enqueue(this);
  }

  /** Records that the call waits for the rate limit. Makes the permits of its operations preemptible, because that wait may be long. */
  waitForRateLimit(): void {
    if (this.waitReason === "RATE_LIMIT" || !this.waitReason || !this.#waiting) return;
    this.#waiting[this.waitReason]--;
    this.#waiting.RATE_LIMIT++;
    this.waitReason = "RATE_LIMIT";
    this.call.consumer.pause();
  }

  /** Ends the wait and dispatches the call. */
  admit(): void {
    this.#stopWaiting();
    this.call.request.traceEntry?.add({ kind: "admitted", waitedFor: this.waitReason });
    this.dispatch();
  }

  /** Removes the call from its queue and rejects it. */
  reject(error: Error): void {
    if (this.isWaiting) this.queue?.remove(this);
    this.#stopWaiting();
    this.refuse(error);
  }

  #stopWaiting(): void {
    if (this.isWaiting && this.#waiting && this.waitReason) {
      this.#waiting[this.waitReason]--;
      if (this.waitReason === "RATE_LIMIT") this.call.consumer.resume();
    }
    this.isWaiting = false;
  }
}

/** Number of waiting calls for each reason. */
export type WaitCounts = Record<WaitReason, number>;
