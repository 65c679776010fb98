import { Failure } from "../../errors.ts";
import type { Held } from "../../held.ts";
import type { Demand, Line } from "../../line.ts";
import type { EndReason, RequestScope } from "../../request-scope.ts";
import type { UpstreamRequest } from "./request.ts";

/** How long something is wanted. */
export interface Life {
  /** Milliseconds since 1970. */
  readonly deadline: number;
  /** Why it has ended; null while it lasts. */
  readonly ended: EndReason | null;
  /** Calls back once at the end, immediately after it. */
  onEnd(callback: () => void): void;
  offEnd(callback: () => void): void;
}

/** Who waits for a response: all that share a read, or an operation itself. Only a shared read waits for its pace. */
export interface Asker extends Demand {
  readonly life: Life;
  /** Keeps those who may wait so long for the pace, in milliseconds; of several, the others get the error. False if nobody may. */
  keepWaiting(msFor: (requester: Requester) => number, late: (requester: Requester) => Error): boolean;
  /** Counts a request that is about to be sent. Throws `Failure` above the limit of all who wait for it. */
  charge(): void;
  /** While it waits for its pace, it holds no place of the gateway. */
  pause(): void;
  resume(): void;
  /** Counts bytes that are held from now on. Throws `Failure` above the limit of the caller. */
  hold(bytes: number): void;
}

export interface RequesterBounds {
  /** Maximum upstream requests at a time. */
  readonly width: number;
  /** Maximum upstream requests in total. Retries do not count. */
  readonly requests: number;
  /** Whether it leaves the pace of the token to others that may need it. */
  readonly yields: boolean;
  /** Called for each request, those above the maximum included. */
  readonly onRequest?: () => void;
}

/** An operation, download or probe that sends upstream requests. It asks by itself for what nobody shares: a command, a download. */
export class Requester implements Asker {
  readonly scope: RequestScope;
  readonly held: Held;
  /** Where its requests wait for a connection; null where they wait for none. */
  readonly line: Line<Waiter> | null;
  readonly yields: boolean;
  readonly life: Life;
  readonly positions = 1;
  hasBegun = false;
  /** Whether the service has refused it a request for now. */
  isThrottled = false;
  readonly #bounds: RequesterBounds;
  #requests = 0;
  #exceeded: Failure | null = null;

  constructor(scope: RequestScope, held: Held, line: Line<Waiter> | null, bounds: RequesterBounds) {
    this.scope = scope;
    this.held = held;
    this.line = line;
    this.yields = bounds.yields;
    this.life = scope;
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

  hold(bytes: number): void {
    this.held.add(bytes);
  }

  /** Counts a request. Throws `Failure` above the limit: one error for all, which reports their final number. */
  charge(): void {
    const { requests, onRequest } = this.#bounds;
    onRequest?.();
    if (++this.#requests <= requests) return;
    const unsent = () => this.#requests - requests;
    throw (this.#exceeded ??= new Failure(
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
export interface Order<Answer = unknown> {
  readonly request: UpstreamRequest<Answer>;
  readonly requester: Requester;
  readonly asker: Asker;
}

/** What waits in a line until its turn comes. */
export interface Waiter extends Demand {
  readonly order: Order;
  /** Its turn has come. `isConnected`: it has a connection. */
  go(isConnected: boolean): void;
  /** Absent where it is not refused. */
  refuse?(error: Error): void;
}

/** Waits in a line. Rejects with `ended` when nobody wants the response any more. */
export const waitIn = (line: Line<Waiter>, order: Order, ended: () => Error): Promise<void> =>
  new Promise((resolve, reject) => {
    const { asker } = order;
    const { life } = asker;
    const waiter = {
      order,
      get positions() {
        return asker.positions;
      },
      go: () => {
        life.offEnd(onEnd);
        resolve();
      },
      refuse: (error: Error) => {
        line.remove(waiter);
        life.offEnd(onEnd);
        reject(error);
      },
    };
    const onEnd = () => waiter.refuse(ended());
    line.add(waiter);
    life.onEnd(onEnd);
  });
