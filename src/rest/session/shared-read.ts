import type { BatchRule, RunRead } from "../api/batch-rules.ts";
import type { Get } from "../api/endpoint.ts";
import type { ReadPart } from "../client/client.ts";
import type { Consumer, Lifetime, UpstreamCall, Requester, QueuedCall } from "../client/upstream-call.ts";

export interface ReadTarget {
  readonly endpoint: Get<never, unknown>;
  /** The endpoint as this server has it. */
  readonly supported: Get<never, unknown>;
  /** The path on this server, with the query. */
  readonly path: string;
  /** Reads a part of a log; null for the whole response. */
  readonly window: ReadPart<unknown> | null;
  /** What a list item must contain to replace the record, in a list that covers all reads with the same `common`. */
  readonly part: { readonly batch: BatchRule; readonly run: RunRead; readonly common: string } | null;
  /** Identifies the whole response among those of the caller. */
  readonly key: string;
}

/** A read. One opens the entry, and sends its request. */
interface Subscriber {
  readonly target: ReadTarget;
  readonly requester: Requester;
  readonly request: UpstreamCall["request"];
  send(sharedRead: SharedRead, isConnected: boolean): Promise<void>;
  readonly priority: number;
  sharedRead: SharedRead | null;
  resolve(response: unknown): void;
  reject(error: unknown): void;
  /** Rejects it, unless an earlier response will do. */
  fail(error: unknown): void;
  /** Rejects it because its operation has ended. */
  end(wasSent: boolean): void;
  /** An earlier response that will do. */
  findStale(): SharedRead | undefined;
}

const NOBODY: readonly Subscriber[] = [];
const NOTHING: readonly (() => void)[] = [];

/**
 * One GET of a caller, and then its response. It belongs to all reads that wait for it: it lasts until the last of them is
 * left, and may be asked again until the latest of their deadlines. Answered, it can be kept for later reads.
 */
export class SharedRead implements Consumer, Lifetime, QueuedCall {
  readonly lifetime = this;
  readonly target: ReadTarget;
  /** Whether later reads may join before it is answered. */
  readonly isOpen: boolean;
  /** When the request began; until when other operations may use the response. */
  readonly began: number;
  freshUntil = -1;
  priority: number;
  ended: Lifetime["ended"] = null;
  isAnswered = false;
  value: unknown = undefined;
  /** How many bytes of memory the response takes. */
  bytes = 0;
  /** Null when it is answered or has failed: the response may outlast the operation. */
  #opener: Subscriber | null;
  #waiting: readonly Subscriber[];
  /** The read that was left last. */
  #last: Subscriber | null = null;
  /** Number of operations that hold the response: its bytes count for the caller until the last one has ended. */
  #holders = 0;
  #isPaused = false;
  /** Whether it waits for its first turn. Until then it is all that there is of the request: thousands may wait. */
  #isQueued = true;
  /** Whether the request is about to be sent, or was sent. */
  #isCharged = false;
  /** What the end interrupts. */
  #interrupts = NOTHING;

  constructor(opener: Subscriber, isOpen: boolean, began: number) {
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
    // Safe: nobody asks for what is answered.
    const { request, requester } = this.#opener as Subscriber;
    return { request, requester, consumer: this };
  }

  dispatch(isConnected: boolean): void {
    this.#isQueued = false;
    void this.#opener?.send(this, isConnected);
  }

  /** Gives a read the response, now or when it comes. */
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

  /** The operation of a read has ended. */
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
    if (!this.#isQueued) return;
    this.#opener?.requester.queue?.remove(this);
    this.dispatch(false);
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

  /** Any operation with requests left pays: the limit of one is no limit of others. */
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
