import { isCallerSide, mayServeStale } from "../../errors.ts";
import type { TraceEntry } from "../../operation-trace.ts";
import type { BatchRule, RunRead } from "../api/batch-rules.ts";
import type { Get } from "../api/endpoint.ts";
import type { Client, ReadChunk } from "../client/client.ts";
import { endedError } from "../client/failure.ts";
import {
  type Consumer,
  type Lifetime,
  QueuedCall,
  type Requester,
  type UpstreamCall,
} from "../client/upstream-call.ts";
import type { LargePages } from "./large-pages.ts";

export interface ReadTarget {
  readonly endpoint: Get<never, unknown>;
  /** The endpoint with the overrides of this server's profile. */
  readonly supported: Get<never, unknown>;
  /** The path on this server, with the query. */
  readonly path: string;
  /** Reads a part of a log; null for the whole response. */
  readonly window: ReadChunk<unknown> | null;
  /** How a list item can replace the record; null if none can. One list can cover all reads with the same `common`. */
  readonly part: { readonly batch: BatchRule; readonly run: RunRead; readonly common: string } | null;
  /** Identifies the whole response among all responses of the caller. */
  readonly key: string;
}

/** The read cache of one caller: `CallerReadCache`, whose module imports this one. */
export interface ReadSharing {
  readonly settings: {
    readonly now: () => number;
    readonly onShared: (how: "in flight" | "kept" | "stale") => void;
  };
  readonly refused: Map<BatchRule, number>;
  viewer: string | null;
  endSharing(): void;
  find(key: string): SharedRead | undefined;
  findStale(key: string): SharedRead | undefined;
  add(sharedRead: SharedRead): void;
  remove(sharedRead: SharedRead, mayServeStale: boolean): void;
  keep(sharedRead: SharedRead, value: unknown): void;
  endAfter(error: unknown): void;
}

export interface ReadContext {
  readonly client: Pick<Client, "command" | "enqueue" | "cancel" | "read" | "readChunk" | "upstreamTime">;
  readonly requester: Requester;
  readonly token: string | null;
  /** The read cache of the caller; null if the operation shares nothing. */
  readonly shared: ReadSharing | null;
  /** Whether the operation ignores earlier requests (`no-cache`). Others do not join its requests, which may have low priority. */
  readonly bypassesCache: boolean;
  readonly largePages: LargePages;
  /** The reads that the operation has started. They unsubscribe when the operation ends. */
  readonly started: Read[];
}

/** A read of one operation, for one or more positions of its result. */
export class Read {
  readonly target: ReadTarget;
  readonly requester: Requester;
  readonly response: Promise<unknown>;
  resolve!: (response: unknown) => void;
  reject!: (error: unknown) => void;
  /** Number of result positions that wait for it. */
  priority = 0;
  /** Null without an operation trace. */
  traceEntry: TraceEntry | null = null;
  /** The shared read that answers it; null before the start and after a failure. */
  sharedRead: SharedRead | null = null;
  /** The list request whose response will answer it; null if there is none. */
  #list: Read | null = null;
  readonly context: ReadContext;

  constructor(target: ReadTarget, context: ReadContext) {
    this.target = target;
    this.requester = context.requester;
    this.context = context;
    this.response = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Raises the priority of the read, and of the request that will answer it. */
  addPriority(count: number): void {
    this.priority += count;
    if (this.sharedRead) this.sharedRead.priority += count;
    this.#list?.addPriority(count);
  }

  /** Records that the response of this read will answer another read. */
  answers(read: Read): void {
    if (this.sharedRead?.isAnswered) return;
    read.#list = this;
    this.addPriority(read.priority);
  }

  /** Uses the cached response of an equal read, shares one in flight, or sends the request. */
  start(): void {
    const { shared, started, bypassesCache } = this.context;
    const { target, requester } = this;
    if (requester.lifetime.ended) return this.end(false);
    started.push(this);
    const equal = bypassesCache ? undefined : shared?.find(target.key);
    if (equal) {
      shared?.settings.onShared(equal.isAnswered ? "kept" : "in flight");
      this.traceEntry?.add({ kind: "served", by: equal.isAnswered ? "cache" : "joined", list: null });
      return equal.join(this);
    }
    const sharedRead = new SharedRead(this, !bypassesCache, shared?.settings.now() ?? 0);
    shared?.add(sharedRead);
    this.traceEntry?.add({ kind: "wait" });
    this.context.client.enqueue(sharedRead);
  }

  /** Called at the end of the operation. Unsubscribes, and releases the response. */
  leave(): void {
    this.traceEntry = null;
    this.sharedRead?.leave(this);
  }

  end(wasSent: boolean): void {
    this.reject(endedError(this.target.supported, this.requester.lifetime, wasSent));
  }

  /** Serves a stale response after a transient error; otherwise rejects. */
  fail(error: unknown): void {
    this.sharedRead = null;
    const { shared } = this.context;
    const stale = mayServeStale(error) ? this.findStale() : undefined;
    if (!shared || !stale) return this.reject(error);
    shared.settings.onShared("stale");
    this.traceEntry?.add({ kind: "stale", ageMs: shared.settings.now() - stale.began });
    stale.join(this);
  }

  /** A stale response that may be served; undefined without one. Requires a trace entry, because the result must report staleness. */
  findStale(): SharedRead | undefined {
    const { bypassesCache, shared } = this.context;
    return bypassesCache || this.requester.lifetime.ended || !this.traceEntry
      ? undefined
      : shared?.findStale(this.target.key);
  }
}

const NOBODY: readonly Read[] = [];
const NO_CALLBACKS: readonly (() => void)[] = [];

/**
 * A GET in flight, later its cached response, shared by equal reads of one caller. It is cancelled when its last subscriber leaves, and may
 * be retried until the latest deadline of its subscribers.
 */
export class SharedRead extends QueuedCall implements Consumer, Lifetime {
  readonly lifetime = this;
  readonly target: ReadTarget;
  /** Whether other reads may subscribe before the response arrives. */
  readonly isOpen: boolean;
  /** When the request began, by the clock of the cache. `freshUntil`: until when other operations may use the response. */
  readonly began: number;
  freshUntil = -1;
  priority: number;
  ended: Lifetime["ended"] = null;
  isAnswered = false;
  value: unknown = undefined;
  /** Memory of the response, in bytes. */
  bytes = 0;
  /** The first subscriber. Null after the response, because a cached response may outlive the operation of its first subscriber. */
  #opener: Read | null;
  #waiting: readonly Read[];
  /** The subscriber that left last. */
  #last: Read | null = null;
  /** Number of reads that use the response. Its bytes are charged until the last of their operations has ended. */
  #holders = 0;
  #isPaused = false;
  #call: UpstreamCall | null = null;
  /** Whether the call is neither admitted nor rejected yet. */
  #isPending = true;
  /** Whether the request is about to be sent, or was sent. */
  #isCharged = false;
  /** Callbacks for its cancellation. */
  #interrupts = NO_CALLBACKS;

  constructor(opener: Read, isOpen: boolean, began: number) {
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
    // Safe: the call is only read before the response, and the first subscriber is known until then.
    const { requester, context, traceEntry } = this.#opener as Read;
    const { supported: endpoint, path } = this.target;
    const request = { endpoint, path, token: context.token, traceEntry };
    return (this.#call = { request, requester, consumer: this });
  }

  dispatch(): void {
    this.#isPending = false;
    // Safe: the first subscriber is known until the response arrives.
    void this.#send((this.#opener as Read).context);
  }

  refuse(error: unknown): void {
    this.#isPending = false;
    // Safe: the first subscriber is known until the response arrives.
    const { requester, context } = this.#opener as Read;
    context.shared?.remove(this, isCallerSide(error) || mayServeStale(error));
    context.shared?.endAfter(error);
    requester.reservation.release(this.bytes);
    this.#opener = null;
    for (const read of this.#waiting) read.fail(error);
    this.#waiting = NOBODY;
    this.#last?.reject(error);
  }

  /** Subscribes a read to the response. */
  join(read: Read): void {
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
  leave(read: Read): void {
    read.sharedRead = null;
    if (this.isAnswered) {
      if (--this.#holders === 0) read.requester.reservation.release(this.bytes);
      return;
    }
    this.#drop(read);
    if (this.#waiting.length > 0) return read.end(this.#isCharged);
    // The last subscriber receives the error of the request itself, which says whether the request was sent.
    this.#last = read;
    this.ended = read.requester.lifetime.ended;
    for (const interrupt of this.#interrupts) interrupt();
    if (this.#isPending) read.context.client.cancel(this);
  }

  rejectLate(msFor: (requester: Requester) => number, late: (requester: Requester) => Error): boolean {
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

  async #send({ client, shared }: ReadContext): Promise<void> {
    const { window } = this.target;
    try {
      const value = await (window ? client.readChunk(this, window) : client.read(this));
      if (this.ended) shared?.remove(this, true);
      else shared?.keep(this, value);
      this.#succeed(value);
    } catch (error) {
      this.refuse(error);
    }
  }

  #succeed(value: unknown): void {
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

  #drop(read: Read): void {
    this.#waiting = this.#waiting.filter((each) => each !== read);
    this.priority -= read.priority;
    if (this.#isPaused) read.requester.resume();
  }
}
