import { Cancelled, serviceShownBy, UpstreamError } from "../../errors.ts";
import type { Get } from "../api/endpoint.ts";
import type { Outcome } from "../client/attempt.ts";
import type { Demand } from "../client/bulkhead.ts";
import { endedError } from "../client/failure.ts";
import type { ReadNote } from "./notes.ts";
import { type Receiver, SharedResponse } from "./shared-response.ts";

/** A read of one operation that may share its request with equal reads of others. */
export interface Sharer extends Receiver {
  readonly endpoint: Get<never, unknown>;
  /** Identifies the response among those of the caller. */
  readonly key: string;
  readonly demand: Demand;
  /** Notes where the response comes from; null unless the operation is explained. */
  readonly note: Pick<ReadNote, "serve"> | null;
  /** Sends the request within the limits of the operation. */
  readonly send: (demand: Demand, outcome: Outcome<unknown>) => void;
}

/** Told about the outcome of a read before the operations that wait for it. */
interface Observer {
  /** Returns the response when it is kept, otherwise null. */
  readonly succeeded: (read: SharedRead, value: unknown, bytes: number) => SharedResponse | null;
  readonly failed: (read: SharedRead, error: unknown) => void;
}

/**
 * One request and the operations that wait for it. It belongs to the first of them: to its queue, budget and deadline.
 * When that operation ends or reaches a limit, the next one sends the request anew. Each operation sends it at most once.
 */
export class SharedRead implements Demand, Outcome<unknown> {
  readonly #observer: Observer;
  readonly #now: () => number;
  /** Whether other operations may join it. */
  readonly isOpen: boolean;
  #owner: Sharer;
  /** The other operations, each with the callback for its end; null as long as there are none. */
  #waiting: Map<Sharer, () => void> | null = null;
  /** When the request that is in flight began. */
  began: number;

  constructor(owner: Sharer, observer: Observer, now: () => number, isOpen: boolean) {
    this.isOpen = isOpen;
    this.#owner = owner;
    this.#observer = observer;
    this.#now = now;
    this.began = now();
  }

  get owner(): Sharer {
    return this.#owner;
  }

  /** The positions of all operations: what several of them wait for goes first. */
  get positions(): number {
    let { positions } = this.#owner.demand;
    if (this.#waiting) for (const { demand } of this.#waiting.keys()) positions += demand.positions;
    return positions;
  }

  send(): void {
    this.#owner.send(this, this);
  }

  /** Lets another operation wait, at the longest until its own end. */
  join(sharer: Sharer): void {
    const { endpoint, scope, reject } = sharer;
    const leave = () => {
      this.#waiting?.delete(sharer);
      reject(endedError(endpoint, scope, true));
    };
    this.#waiting ??= new Map();
    this.#waiting.set(sharer, leave);
    scope.onEnd(leave);
  }

  succeeded(value: unknown, bytes: number): void {
    const kept = this.#observer.succeeded(this, value, bytes);
    this.#owner.resolve(value);
    if (!this.#waiting) return;
    const response = kept ?? new SharedResponse(value, bytes, this.#owner);
    for (let next = this.#takeNext(); next; next = this.#takeNext()) response.deliver(next);
  }

  failed(error: unknown): void {
    const next = isOwnFault(error) ? this.#takeNext() : undefined;
    if (next) {
      this.#owner.reject(error);
      this.#owner = next;
      this.began = this.#now();
      this.send();
      return;
    }
    this.#observer.failed(this, error);
    this.#owner.reject(error);
    for (let other = this.#takeNext(); other; other = this.#takeNext()) other.reject(error);
  }

  /** Removes the operation that has waited longest. */
  #takeNext(): Sharer | undefined {
    const [first] = this.#waiting ?? [];
    if (!first) return undefined;
    const [sharer, leave] = first;
    this.#waiting?.delete(sharer);
    sharer.scope.offEnd(leave);
    return sharer;
  }
}

/** Whether a failure is the operation's own: its end, or one of its limits. The request may succeed for others. */
const isOwnFault = (error: unknown): boolean =>
  error instanceof Cancelled || (error instanceof UpstreamError && serviceShownBy(error) === "unknown");
