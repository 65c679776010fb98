import { GatewayError } from "../../errors.ts";
import type { MemoryReservation } from "../../callers/memory-budget.ts";
import type { Prioritized, FairQueue } from "../../callers/fair-queue.ts";
import type { EndReason, RequestScope } from "../../callers/request-scope.ts";
import type { UpstreamRequest } from "./request.ts";

/** The deadline of a call, and its cancellation. */
export interface Lifetime {
  /** Milliseconds since 1970. */
  readonly deadline: number;
  /** The reason for its end; null before. */
  readonly ended: EndReason | null;
  /** Calls back once at the end, immediately if it has ended. */
  onEnd(callback: () => void): void;
  offEnd(callback: () => void): void;
}

/** Consumes a response: a read that operations share, or one operation. Only shared reads wait for the rate limit. */
export interface Consumer extends Prioritized {
  readonly lifetime: Lifetime;
  /** Rejects subscribers whose deadline is earlier than the wait for the rate limit, in milliseconds. Returns false if none is left. */
  keepWaiting(msFor: (requester: Requester) => number, late: (requester: Requester) => Error): boolean;
  /** Counts a request that is about to be sent. Throws `GatewayError` if all consumers have reached their limit. */
  countRequest(): void;
  /** Lends the permits of its operations while it waits for the rate limit. */
  pause(): void;
  resume(): void;
  /** Charges bytes of memory. Throws `GatewayError` above the limit of the caller. */
  chargeMemory(bytes: number): void;
}

export interface RequestLimits {
  /** Maximum concurrent upstream requests. */
  readonly concurrency: number;
  /** Maximum upstream requests in total. Retries do not count. */
  readonly requests: number;
  /** Whether it has low priority in the rate limit of the token: subscriptions. */
  readonly isBackground: boolean;
  /** Called for each request, including those above the maximum. */
  readonly onRequest?: () => void;
}

/** An operation, download or probe that sends upstream requests. It consumes responses itself that are not shared: commands, downloads. */
export class Requester implements Consumer {
  readonly scope: RequestScope;
  readonly reservation: MemoryReservation;
  /** The queue for connections; null for requests that need none of the limited connections. */
  readonly queue: FairQueue<QueuedCall> | null;
  readonly isBackground: boolean;
  readonly lifetime: Lifetime;
  readonly priority = 1;
  hasBegun = false;
  /** Whether one of its requests was rejected with 429. */
  isThrottled = false;
  readonly #bounds: RequestLimits;
  #requests = 0;
  #exceeded: GatewayError | null = null;

  constructor(
    scope: RequestScope,
    reservation: MemoryReservation,
    queue: FairQueue<QueuedCall> | null,
    bounds: RequestLimits,
  ) {
    this.scope = scope;
    this.reservation = reservation;
    this.queue = queue;
    this.isBackground = bounds.isBackground;
    this.lifetime = scope;
    this.#bounds = bounds;
  }

  /** Downloads do not wait for the rate limit. */
  keepWaiting(): boolean {
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

  /** Counts a request. Throws `GatewayError` above the limit: one error for all requests, which reports their final number. */
  countRequest(): void {
    const { requests, onRequest } = this.#bounds;
    onRequest?.();
    if (++this.#requests <= requests) return;
    const unsent = () => this.#requests - requests;
    throw (this.#exceeded ??= new GatewayError(
      "REQUEST_LIMIT_EXCEEDED",
      `This operation needs more than ${requests} requests to the service; ask for less at once.`,
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

/** An upstream call in a fair queue. */
export interface QueuedCall extends Prioritized {
  readonly call: UpstreamCall;
  /** Called when it leaves the queue. `isConnected`: it has a connection. */
  dispatch(isConnected: boolean): void;
  /** Rejects it while it waits. Absent where that is never done. */
  refuse?(error: Error): void;
}

/** Waits in a queue. Rejects with `ended` when all consumers have disconnected. */
export const enqueue = (
  queue: FairQueue<QueuedCall>,
  call: UpstreamCall,
  ended: () => Error,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const { consumer } = call;
    const { lifetime } = consumer;
    const queuedCall = {
      call,
      get priority() {
        return consumer.priority;
      },
      dispatch: () => {
        lifetime.offEnd(onEnd);
        resolve();
      },
      refuse: (error: Error) => {
        queue.remove(queuedCall);
        lifetime.offEnd(onEnd);
        reject(error);
      },
    };
    const onEnd = () => queuedCall.refuse(ended());
    queue.enqueue(queuedCall);
    lifetime.onEnd(onEnd);
  });
