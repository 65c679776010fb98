import type { Held } from "../../held.ts";
import type { Demand, Line } from "../../line.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { Operation } from "./operation.ts";
import type { UpstreamRequest } from "./request.ts";
import type { WireRequest } from "./transport.ts";

/** How long something is wanted. */
export interface Life {
  /** Milliseconds since 1970. */
  readonly deadline: number;
  /** Why it has ended; null while it lasts. */
  readonly ended: "left" | "deadline" | "done" | null;
  /** Calls back once at the end, immediately after it. */
  onEnd(callback: () => void): void;
  offEnd(callback: () => void): void;
}

/** Who waits for a response: an operation, or all that share a read. */
export interface Asker extends Life, Demand {
  /** Whether a read may wait so long for its pace, in milliseconds. Of several, those who may not get the error. */
  canWait(ms: number, late: () => Error): boolean;
  /** Counts bytes that are held from now on. Throws `UpstreamError` above the limit of the caller. */
  hold(bytes: number): void;
}

/** A request to the service, and what it is for. */
export interface Order {
  readonly request: UpstreamRequest<unknown>;
  readonly operation: Operation;
  readonly asker: Asker;
}

/** What is told of a request on the wire: its status, and how long its body is after decompression. */
export interface Watch {
  respond(status: number): void;
  receive(bytes: number): void;
}

/** Sends a request once, and reads what is wanted of the response. */
export type Exchange<Part> = (wire: WireRequest, asker: Asker, watch: Watch) => Promise<Part>;

/** An order that waits for its turn in a line, until nobody wants its response any more. */
export class Waiter {
  readonly order: Order;
  readonly demand: Demand;
  readonly #line: Line<Waiter>;
  readonly #settle: (error: Error | null) => void;
  readonly #onEnd: () => void;

  constructor(line: Line<Waiter>, order: Order, settle: (error: Error | null) => void, ended: () => Error) {
    this.order = order;
    this.demand = order.asker;
    this.#line = line;
    this.#settle = settle;
    this.#onEnd = () => this.refuse(ended());
    line.add(this);
    order.asker.onEnd(this.#onEnd);
  }

  /** Its turn has come. */
  go(): void {
    this.order.asker.offEnd(this.#onEnd);
    this.#settle(null);
  }

  refuse(error: Error): void {
    this.#line.remove(this);
    this.order.asker.offEnd(this.#onEnd);
    this.#settle(error);
  }
}

/** Waits in a line. Rejects with `ended` when nobody wants the response any more. */
export const waitIn = (line: Line<Waiter>, order: Order, ended: () => Error): Promise<void> =>
  new Promise((resolve, reject) => {
    void new Waiter(line, order, (error) => (error ? reject(error) : resolve()), ended);
  });

/** A scope that asks for itself: for a command, a probe or a download. */
export class Alone implements Asker {
  readonly positions = 1;
  readonly #scope: RequestScope;
  readonly #held: Held | null;

  constructor(scope: RequestScope, held: Held | null) {
    this.#scope = scope;
    this.#held = held;
  }

  get deadline(): number {
    return this.#scope.deadline;
  }

  get ended(): Life["ended"] {
    return this.#scope.ended;
  }

  onEnd(callback: () => void): void {
    this.#scope.onEnd(callback);
  }

  offEnd(callback: () => void): void {
    this.#scope.offEnd(callback);
  }

  canWait(): boolean {
    return false;
  }

  hold(bytes: number): void {
    this.#held?.add(bytes);
  }
}
