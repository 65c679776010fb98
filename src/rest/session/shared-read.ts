import type { BatchRule, RunRead } from "../api/batch-rules.ts";
import type { Get } from "../api/endpoint.ts";
import type { ReadChunk } from "../client/client.ts";
import {
  type Consumer,
  type Lifetime,
  QueuedCall,
  type Requester,
  type UpstreamCall,
} from "../client/upstream-call.ts";

export interface ReadTarget {
  readonly endpoint: Get<never, unknown>;
  /** The endpoint with the overrides of this server's profile. */
  readonly supported: Get<never, unknown>;
  /** The path on this server, with the query. */
  readonly path: string;
  /** Reads a part of a log; null for the whole response. */
  readonly window: ReadChunk<unknown> | null;
  /** What a list item must contain to replace the record, in a list that covers all reads with the same `common`. */
  readonly part: { readonly batch: BatchRule; readonly run: RunRead; readonly common: string } | null;
  /** Identifies the whole response among those of the caller. */
  readonly key: string;
}

/** A read of one operation. The first subscriber sends the request. */
interface Subscriber {
  readonly target: ReadTarget;
  readonly requester: Requester;
  readonly request: UpstreamCall["request"];
  send(sharedRead: SharedRead): Promise<void>;
  refuse(sharedRead: SharedRead, error: unknown): void;
  /** Takes it out of the queue for admission. */
  cancel(sharedRead: SharedRead): void;
  readonly priority: number;
  sharedRead: SharedRead | null;
  resolve(response: unknown): void;
  reject(error: unknown): void;
  /** Rejects it, unless a stale response may be served. */
  fail(error: unknown): void;
  /** Rejects it because its operation has ended. */
  end(wasSent: boolean): void;
  /** A stale response that may be served in place of an error. */
  findStale(): SharedRead | undefined;
}

const NOBODY: readonly Subscriber[] = [];
const NO_CALLBACKS: readonly (() => void)[] = [];

/**
 * A GET in flight, later its cached response, shared by equal reads of one caller. It is cancelled when its last subscriber leaves, and may be
 * retried until the latest of their deadlines.
 */
export class SharedRead extends QueuedCall implements Consumer, Lifetime {
  readonly lifetime = this;
  readonly target: ReadTarget;
  /** Whether other reads may subscribe before it is answered. */
  readonly isOpen: boolean;
  /** When the request began; until when other operations may use the response. */
  readonly began: number;
  freshUntil = -1;
  priority: number;
  ended: Lifetime["ended"] = null;
  isAnswered = false;
  value: unknown = undefined;
  /** Memory of the response, in bytes. */
  bytes = 0;
  /** The first subscriber; null after the answer, which may outlast the operation. */
  #opener: Subscriber | null;
  #waiting: readonly Subscriber[];
  /** The subscriber that left last. */
  #last: Subscriber | null = null;
  /** Number of operations that use the response. Its bytes are charged until the last of them has ended. */
  #holders = 0;
  #isPaused = false;
  #call: UpstreamCall | null = null;
  /** Whether it is neither admitted nor refused yet. */
  #isPending = true;
  /** Whether the request is about to be sent, or was sent. */
  #isCharged = false;
  /** Callbacks for its cancellation. */
  #interrupts = NO_CALLBACKS;

  constructor(opener: Subscriber, isOpen: boolean, began: number) {
    super();
    this.target = opener.target;
    this.isOpen = isOpen;
    this.began = began;
    this.#opener = opener;
    this.#waiting = [opener];
    this.priority = opener.priority;
    opener.sharedRead = this;
  }

  get deadline(): number {
    return Math.max(0, ...this.#waiting.map(({ requester }) => requester.lifetime.deadline));
  }

  get call(): UpstreamCall {
    if (this.#call) return this.#call;
    // Safe: only read before the answer.
    const { request, requester } = this.#opener as Subscriber;
    return (this.#call = { request, requester, consumer: this });
  }

  dispatch(): void {
    this.#isPending = false;
    void this.#opener?.send(this);
  }

  refuse(error: Error): void {
    this.#isPending = false;
    this.#opener?.refuse(this, error);
  }

  /** Subscribes a read to the response. */
  join(read: Subscriber): void {
    read.sharedRead = this;
    if (this.isAnswered) {
      try {
        if (this.#holders++ === 0) read.requester.reservation.chargeShared(this.bytes);
        return read.resolve(this.value);
      } catch (error) {
        return read.reject(error);
      }
    }
    this.priority += read.priority;
    this.#waiting = this.#waiting.concat(read);
    if (this.#isPaused) read.requester.pause();
  }

  /** Unsubscribes a read whose operation has ended. */
  leave(read: Subscriber): void {
    read.sharedRead = null;
    if (this.isAnswered) {
      if (--this.#holders === 0) read.requester.reservation.release(this.bytes);
      return;
    }
    this.#drop(read);
    if (this.#waiting.length > 0) return read.end(this.#isCharged);
    // The request's own error says whether it was sent.
    this.#last = read;
    this.ended = read.requester.lifetime.ended;
    for (const interrupt of this.#interrupts) interrupt();
    if (this.#isPending) this.#opener?.cancel(this);
  }

  succeed(value: unknown): void {
    this.isAnswered = true;
    this.value = value;
    this.#holders = this.#waiting.length;
    for (const read of this.#waiting) read.resolve(value);
    this.#waiting = NOBODY;
    this.#last?.resolve(value);
    if (this.#holders === 0) this.#opener?.requester.reservation.release(this.bytes);
    this.#opener = null;
    this.#call = null;
  }

  fail(error: unknown): void {
    this.#opener?.requester.reservation.release(this.bytes);
    this.#opener = null;
    for (const read of this.#waiting) read.fail(error);
    this.#waiting = NOBODY;
    this.#last?.reject(error);
  }

  keepWaiting(msFor: (requester: Requester) => number, late: (requester: Requester) => Error): boolean {
    const now = Date.now();
    const inTime = this.#waiting.filter(
      (read) => now + msFor(read.requester) < read.requester.lifetime.deadline && !read.findStale(),
    );
    if (inTime.length === 0) return false;
    for (const read of this.#waiting.filter((each) => !inTime.includes(each))) {
      this.#drop(read);
      read.fail(late(read.requester));
    }
    return true;
  }

  /** Counts the request for the first operation that has not reached its limit. */
  countRequest(): void {
    let limit: unknown;
    this.#isCharged = true;
    for (const read of this.#waiting) {
      try {
        return read.requester.countRequest();
      } catch (error) {
        limit = error;
        this.#drop(read);
        read.fail(error);
      }
    }
    throw limit;
  }

  pause(): void {
    this.#isPaused = true;
    for (const { requester } of this.#waiting) requester.pause();
  }

  resume(): void {
    this.#isPaused = false;
    for (const { requester } of this.#waiting) requester.resume();
  }

  chargeMemory(bytes: number): void {
    this.bytes += bytes;
    this.#opener?.requester.reservation.chargeShared(bytes);
  }

  onEnd(interrupt: () => void): void {
    if (this.ended) interrupt();
    else this.#interrupts = this.#interrupts.concat(interrupt);
  }

  offEnd(interrupt: () => void): void {
    this.#interrupts = this.#interrupts.filter((each) => each !== interrupt);
  }

  #drop(read: Subscriber): void {
    this.#waiting = this.#waiting.filter((each) => each !== read);
    this.priority -= read.priority;
    if (this.#isPaused) read.requester.resume();
  }
}
