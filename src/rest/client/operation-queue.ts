import { OVERLOADED, UpstreamError } from "../../errors.ts";
import type { Caller } from "../../caller.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { Allowance, Ticket } from "./allowance.ts";
import { Bulkhead } from "../../bulkhead.ts";
import { endedError, throttledError } from "./failure.ts";

export interface OperationBounds {
  readonly width: number;
  /** Maximum upstream requests in total. Retries do not count. */
  readonly requests: number;
  /** Whether it leaves the token's allowance to others that may need it. */
  readonly yields: boolean;
  /** Called for each request, those above the maximum included. */
  readonly onRequest?: () => void;
}

interface Queues {
  isQueueFull(caller: Caller): boolean;
  serve(): void;
  serveSoon(): void;
}

const isAny = (): boolean => true;
const isFirstTry = ({ isRetry }: Ticket): boolean => !isRetry;

/** The waiting requests of one operation: first for the allowance of the token, then for a connection. */
export class OperationQueue {
  readonly #admission: Queues;
  readonly #scope: RequestScope;
  readonly #bulkhead: Bulkhead<Ticket>;
  readonly #bounds: OperationBounds;
  /** Requests that were sent, retries not counted. */
  #sent = 0;
  /** Requests above the limit. They share one error, which tells their final number. */
  #unsent = 0;
  #exceeded: UpstreamError | null = null;
  /** Reads that are not allowed yet, by their allowance; null until there is one. */
  #held: Map<Allowance, Bulkhead<Ticket>> | null = null;
  #hasBegun = false;

  constructor(admission: Queues, scope: RequestScope, bulkhead: Bulkhead<Ticket>, bounds: OperationBounds) {
    this.#admission = admission;
    this.#scope = scope;
    this.#bulkhead = bulkhead;
    this.#bounds = bounds;
  }

  /**
   * Calls the ticket's `admitted` when the request may be sent, later in this tick or in its turn. Calls `rejected` when
   * the scope ends first, with `RATE_LIMITED` when the service will not allow it in time, with `REQUEST_LIMIT_EXCEEDED`
   * when the operation has used up its requests, and with `SERVICE_OVERLOADED` when the queue is full.
   */
  enter(ticket: Ticket): void {
    const rejection = this.#rejectionOf(ticket);
    if (rejection) return ticket.rejected(rejection);
    this.#hasBegun = true;
    const { allowance, endpoint } = ticket;
    // Commands do not wait: people click once.
    if (endpoint.method !== "GET") allowance?.spend();
    else if (allowance && !allowance.take(this.#bounds.yields)) return this.#hold(ticket, allowance);
    this.pass(ticket);
  }

  /** The allowance has let a request pass: it waits for a connection. */
  pass(ticket: Ticket): void {
    this.#bulkhead.add(ticket);
    this.#admission.serveSoon();
  }

  /** Must be called once for each admitted request when it completes. */
  leave(): void {
    this.#bulkhead.leave();
    this.#admission.serve();
  }

  admit(ticket: Ticket): void {
    const { allowance, endpoint } = ticket;
    if (endpoint.method === "GET" && allowance?.isRefused()) {
      // The service has refused another one meanwhile.
      this.#bulkhead.leave();
      allowance.giveBack();
      return this.#hold(ticket, allowance);
    }
    if (!ticket.isRetry) this.#sent++;
    ticket.admitted();
    if (this.#sent >= this.#bounds.requests) this.#drop(isFirstTry, () => this.#exceed());
  }

  /** Rejects the reads that will not be allowed in time, now that an allowance pauses for longer. */
  rejectLate(allowance: Allowance): void {
    const waitMs = allowance.waitMs(this.#bounds.yields);
    const isInTime = this.#isInTime(waitMs);
    if (waitMs > 0) this.#refuse(allowance, waitMs, ({ isPatient }) => !isInTime || !isPatient);
  }

  close(): void {
    // They were not refused: others had their turns until then.
    if (this.#scope.ended === "deadline")
      for (const allowance of this.#held?.keys() ?? [])
        this.#refuse(allowance, allowance.waitMs(this.#bounds.yields), isAny);
    this.#drop(isAny, ({ endpoint }) => endedError(endpoint, this.#scope, false));
  }

  /** Makes a read wait until it is allowed, or rejects it at once when that will be too late. */
  #hold(ticket: Ticket, allowance: Allowance): void {
    const waitMs = allowance.waitMs(this.#bounds.yields);
    if (!ticket.isPatient || !this.#isInTime(waitMs))
      return ticket.rejected(throttledError(ticket.endpoint, waitMs));
    this.#held ??= new Map();
    const held = this.#held.get(allowance) ?? new Bulkhead(allowance.waiting, Number.POSITIVE_INFINITY);
    this.#held.set(allowance, held);
    held.add(ticket);
    allowance.advance();
  }

  /** Rejects reads that wait for an allowance. */
  #refuse(allowance: Allowance, waitMs: number, isRefused: (ticket: Ticket) => boolean): void {
    for (const ticket of this.#held?.get(allowance)?.remove(isRefused) ?? [])
      ticket.rejected(throttledError(ticket.endpoint, waitMs));
  }

  /** A read for which others only have to end is always in time. */
  #isInTime(waitMs: number): boolean {
    return waitMs === 0 || Date.now() + waitMs < this.#scope.deadline;
  }

  #drop(isDropped: (ticket: Ticket) => boolean, errorOf: (ticket: Ticket) => Error): void {
    for (const held of this.#held?.values() ?? [])
      for (const ticket of held.remove(isDropped)) ticket.rejected(errorOf(ticket));
    for (const ticket of this.#bulkhead.remove(isDropped)) {
      ticket.allowance?.giveBack();
      ticket.rejected(errorOf(ticket));
    }
  }

  /** Why a request cannot be queued; null when it can. */
  #rejectionOf({ endpoint, isRetry }: Ticket): Error | null {
    if (this.#scope.ended) return endedError(endpoint, this.#scope, false);
    if (!isRetry && this.#sent >= this.#bounds.requests) return this.#exceed();
    // Operations that have started are not rejected halfway.
    if (!this.#hasBegun && this.#admission.isQueueFull(this.#scope.caller))
      return new UpstreamError("SERVICE_OVERLOADED", OVERLOADED);
    return null;
  }

  /** Counts a request above the limit. Returns its error. */
  #exceed(): UpstreamError {
    this.#unsent++;
    const unsent = () => this.#unsent;
    return (this.#exceeded ??= new UpstreamError(
      "REQUEST_LIMIT_EXCEEDED",
      `This operation needs more than ${this.#bounds.requests} requests to the service; ask for less at once.`,
      {
        get unsentRequests() {
          return unsent();
        },
      },
    ));
  }
}
