import { GatewayError } from "../../errors.ts";
import type { MemoryReservation } from "../../callers/memory-budget.ts";
import type { Prioritized, FairQueue } from "../../callers/fair-queue.ts";
import type { EndReason, RequestScope } from "../../callers/request-scope.ts";
import type { UpstreamRequest } from "./request.ts";

/** How long something is wanted. */
export interface Lifetime {
  /** Milliseconds since 1970. */
  readonly deadline: number;
  /** Why it has ended; null while it lasts. */
  readonly ended: EndReason | null;
  /** Calls back once at the end, immediately after it. */
  onEnd(callback: () => void): void;
  offEnd(callback: () => void): void;
}

/** Who waits for a response: all that share a read, or an operation itself. Only a shared read waits for its pace. */
export interface Consumer extends Prioritized {
  readonly lifetime: Lifetime;
  /** Keeps those who may wait so long for the pace, in milliseconds; of several, the others get the error. False if nobody may. */
  keepWaiting(msFor: (requester: Requester) => number, late: (requester: Requester) => Error): boolean;
  /** Counts a request that is about to be sent. Throws `Failure` above the limit of all who wait for it. */
  countRequest(): void;
  /** While it waits for its pace, it holds no place of the gateway. */
  pause(): void;
  resume(): void;
  /** Counts bytes that are held from now on. Throws `Failure` above the limit of the caller. */
  chargeMemory(bytes: number): void;
}

export interface RequestLimits {
  /** Maximum upstream requests at a time. */
  readonly concurrency: number;
  /** Maximum upstream requests in total. Retries do not count. */
  readonly requests: number;
  /** Whether it leaves the pace of the token to others that may need it. */
  readonly isBackground: boolean;
  /** Called for each request, those above the maximum included. */
  readonly onRequest?: () => void;
}

/** An operation, download or probe that sends upstream requests. It asks by itself for what nobody shares: a command, a download. */
export class Requester implements Consumer {
  readonly scope: RequestScope;
  readonly reservation: MemoryReservation;
  /** Where its requests wait for a connection; null where they wait for none. */
  readonly queue: FairQueue<QueuedCall> | null;
  readonly isBackground: boolean;
  readonly lifetime: Lifetime;
  readonly priority = 1;
  hasBegun = false;
  /** Whether the service has refused it a request for now. */
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

  /** A download goes in the pace of its token or not at all. */
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

  /** Counts a request. Throws `Failure` above the limit: one error for all, which reports their final number. */
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

/** A request to the service, and what it is for. */
export interface UpstreamCall<Answer = unknown> {
  readonly request: UpstreamRequest<Answer>;
  readonly requester: Requester;
  readonly consumer: Consumer;
}

/** What waits in a line until its turn comes. */
export interface QueuedCall extends Prioritized {
  readonly call: UpstreamCall;
  /** Its turn has come. `isConnected`: it has a connection. */
  dispatch(isConnected: boolean): void;
  /** Absent where it is not refused. */
  refuse?(error: Error): void;
}

/** Waits in a line. Rejects with `ended` when nobody wants the response any more. */
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
