import { LRUCache } from "lru-cache";
import type { Caller, Callers, Room } from "../../caller.ts";
import { Cancelled, serviceShownBy, UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import { TransientMap } from "../../transient.ts";
import type { Batch, RunRead } from "../api/batches.ts";
import type { Get } from "../api/endpoint.ts";
import { seldomChanges } from "../api/freshness.ts";
import type { Outcome } from "../client/attempt.ts";
import type { Demand } from "../client/bulkhead.ts";
import type { ReadPart, Upstream } from "../client/client.ts";
import { endedError } from "../client/failure.ts";
import type { ReadNote } from "./notes.ts";

/** What a read asks for. */
export interface ReadTarget {
  readonly endpoint: Get<never, unknown>;
  /** The endpoint as this server has it. */
  readonly offered: Get<never, unknown>;
  /** The path on this server, with the query. */
  readonly path: string;
  /** Reads a part of a log; null for the whole response. */
  readonly window: ReadPart<unknown> | null;
  /** What a list item must contain to replace the record, in a list that covers all reads with the same `common`. */
  readonly part: { readonly batch: Batch; readonly run: RunRead; readonly common: string } | null;
  /** Identifies the whole response among those of the caller. */
  readonly key: string;
}

/** An operation that reads. */
export interface Reader {
  readonly scope: RequestScope;
  readonly upstream: Upstream;
  readonly token: string | null;
  /** Shares its reads with other operations of the caller; null when it shares none. */
  readonly shared: SharedReads | null;
  /** Whether it uses nothing that was requested before. Others do not wait for its requests, which may not be retried. */
  readonly isFresh: boolean;
  /** Its reads that were started: it leaves them when it ends. */
  readonly started: Read[];
}

/**
 * One GET: an operation gathers it; while it is in flight, equal reads of the caller's other operations wait for it; then it
 * may be kept. Its request has the queue, budget and deadline of its operation. When that ends or reaches a limit first, the
 * reads that wait ask anew, each within its own limits.
 */
export class Read implements Demand, Outcome<unknown> {
  readonly target: ReadTarget;
  readonly response: Promise<unknown>;
  resolve: (response: unknown) => void = () => {};
  reject: (error: unknown) => void = () => {};
  /** Number of positions in the operation's result that load it. */
  loads = 0;
  /** Null unless the operation is explained. */
  note: ReadNote | null = null;
  /** Whether other operations may wait for its request, and when that began. */
  isOpen = true;
  began = 0;
  isAnswered = false;
  /** What was received, and how many bytes of memory it takes. */
  value: unknown = undefined;
  bytes = 0;
  /** The operation, while the read waits for a response. No longer, so that a kept response does not keep its operation. */
  #reader: Reader | null = null;
  /** The read whose response it waits for, or whose response its operation holds. */
  #source: Read | null = null;
  /** Reads of the same operation that are answered by its response; null as long as there are none. */
  #members: Read[] | null = null;
  /** Equal reads of other operations; null as long as there are none. */
  #waiting: Read[] | null = null;
  /** Number of operations that hold its response. While there are any, its bytes count for the caller. */
  #holders = 0;

  constructor(target: ReadTarget) {
    this.target = target;
    this.response = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** All positions that wait for it: what more of them wait for is requested first. */
  get positions(): number {
    let positions = this.loads;
    if (this.#members) for (const read of this.#members) positions += read.positions;
    if (this.#waiting) for (const read of this.#waiting) positions += read.positions;
    return positions;
  }

  /** Its response will answer another read of the operation. */
  answers(read: Read): void {
    if (!this.isAnswered) (this.#members ??= []).push(read);
  }

  /** Takes the kept response of an equal read, waits for one that is in flight, or sends the request. */
  start(reader: Reader): void {
    const { scope, shared, started } = reader;
    if (scope.ended()) return this.reject(endedError(this.target.offered, scope, false));
    started.push(this);
    const equal = this.#ask(reader);
    if (!equal) return;
    shared?.settings.onShared(equal.isAnswered ? "kept" : "in flight");
    this.note?.serve(equal.isAnswered ? "cache" : "joined");
  }

  /** Its operation has ended: it waits no longer and holds no response. The client ends a request in flight. */
  leave({ scope, upstream }: Reader): void {
    const source = this.#source;
    this.#source = null;
    this.note = null;
    if (source?.isAnswered) {
      if (--source.#holders === 0) upstream.held.remove(source.bytes);
    } else if (source) {
      source.#waiting = source.#waiting?.filter((read) => read !== this) ?? null;
      this.#reader = null;
      this.reject(endedError(this.target.offered, scope, true));
    }
  }

  succeeded(value: unknown, bytes: number): void {
    const reader = this.#takeReader();
    if (!reader) return;
    const { scope, shared, upstream } = reader;
    this.isAnswered = true;
    this.value = value;
    this.bytes = bytes;
    if (!scope.ended()) {
      // The client has added them to what ends with the operation.
      upstream.held.detach(bytes);
      this.#holders = 1;
      this.#source = this;
    }
    shared?.keep(scope.caller, this);
    this.resolve(value);
    this.#waiting?.forEach((read) => this.#deliver(read));
    this.#waiting = null;
  }

  failed(error: unknown): void {
    const reader = this.#takeReader();
    if (!reader) return;
    const { scope, shared } = reader;
    shared?.remove(scope.caller, this);
    if (error instanceof UpstreamError && error.code === "UNAUTHENTICATED") shared?.cut(scope.caller);
    this.reject(error);
    this.#waiting?.forEach((read) => {
      const waiting = read.#takeReader();
      if (waiting && isOwnFault(error)) read.#ask(waiting);
      else read.reject(error);
    });
    this.#waiting = null;
  }

  /** Returns the equal read that it shares; null when it sends a request. */
  #ask(reader: Reader): Read | null {
    const { scope, shared, upstream, token, isFresh } = reader;
    const { offered, path, window, key } = this.target;
    this.#reader = reader;
    const equal = (!isFresh && shared?.find(scope.caller, key)) || null;
    if (equal?.isAnswered) equal.#deliver(this);
    else if (equal) {
      this.#source = equal;
      (equal.#waiting ??= []).push(this);
    } else {
      this.isOpen = !isFresh;
      shared?.add(scope.caller, this);
      const request = { endpoint: offered, path, token, demand: this, note: this.note };
      if (window) upstream.readPart(request, window, this);
      else upstream.json(request, this);
    }
    return equal;
  }

  /** Passes its response to a read that waits for it. */
  #deliver(read: Read): void {
    const reader = read.#takeReader();
    if (!reader) return;
    const { held } = reader.upstream;
    try {
      if (this.#holders === 0) {
        held.add(this.bytes);
        held.detach(this.bytes);
      }
      this.#holders++;
      read.#source = this;
      read.resolve(this.value);
    } catch (error) {
      read.reject(error);
    }
  }

  /** The operation, which waits no longer; null when it has not waited. */
  #takeReader(): Reader | null {
    const reader = this.#reader;
    this.#reader = null;
    this.#source = null;
    this.#members = null;
    return reader;
  }
}

/** Whether a failure is the operation's own: its end, or one of its limits. The request may succeed for others. */
const isOwnFault = (error: unknown): boolean =>
  error instanceof Cancelled || (error instanceof UpstreamError && serviceShownBy(error) === "unknown");

export interface SharingSettings {
  /** How long a response is kept after its request began, in milliseconds; 0: not at all. */
  readonly ttlMs: number;
  /** Maximum bytes of kept responses, over all callers. */
  readonly maxBytes: number;
  /** Milliseconds since any fixed point. */
  readonly now: () => number;
  /** Called for each read that needs no request of its own. */
  readonly onShared: (from: "in flight" | "kept") => void;
}

/** How many times longer a response is kept that seldom changes. */
const SELDOM_FACTOR = 5;

/** Bytes of a kept response besides what was received. */
const ENTRY_BYTES = 1_000;

/**
 * The reads of each caller since its last command: those in flight, and those that are kept. Own code: packages that merge
 * equal requests share a promise, which fails with the operation that made it, and know neither limits nor commands.
 */
export class SharedReads {
  readonly settings: SharingSettings;
  readonly #room: Room<TransientMap<Read>>;
  /** Kept responses, with the caller of each. */
  readonly #kept: LRUCache<Read, Caller> | null;

  constructor(settings: SharingSettings, callers: Callers) {
    const { ttlMs, maxBytes, now } = settings;
    this.settings = settings;
    this.#room = callers.room(() => new TransientMap());
    const kept = {
      maxSize: maxBytes,
      ttl: ttlMs,
      // Responses of callers who left must not stay in memory.
      ttlAutopurge: true,
      ttlResolution: 0,
      // A start of 0 means none to lru-cache.
      perf: { now: () => now() + 1 },
      dispose: (caller: Caller, read: Read) => this.#forget(caller, read),
    };
    this.#kept = ttlMs === 0 ? null : new LRUCache(kept);
  }

  /** The read that an equal one of the caller may share; null without one. */
  find(caller: Caller, key: string): Read | null {
    const read = caller.of(this.#room)?.get(key);
    if (!read) return null;
    return (read.isAnswered ? this.#kept?.get(read) : read.isOpen) ? read : null;
  }

  /** Adds a read whose request begins. No later read gets an older response. */
  add(caller: Caller, read: Read): void {
    read.began = this.settings.now();
    const reads = caller.enter(this.#room);
    const older = reads.get(read.target.key);
    if (older) this.remove(caller, older);
    reads.set(read.target.key, read);
  }

  remove(caller: Caller, read: Read): void {
    // The cache forgets a kept one by itself.
    if (!this.#kept?.delete(read)) this.#forget(caller, read);
  }

  /** Keeps a read that is answered, unless it is too old or too long, or a command or a later read has taken its place. */
  keep(caller: Caller, read: Read): void {
    const { key, endpoint } = read.target;
    if (this.#kept && caller.of(this.#room)?.get(key) === read) {
      const { ttlMs, now } = this.settings;
      const keptMs = seldomChanges(endpoint, read.value) ? ttlMs * SELDOM_FACTOR : ttlMs;
      const ttl = Math.floor(read.began + keptMs - now());
      if (ttl > 0) this.#kept.set(read, caller, { ttl, size: read.bytes + ENTRY_BYTES });
      if (this.#kept.has(read)) return;
    }
    this.remove(caller, read);
  }

  /** Ends the sharing of what the caller has requested so far: what starts from now on reads anew. */
  cut(caller: Caller): void {
    for (const read of caller.of(this.#room)?.values() ?? []) this.remove(caller, read);
  }

  #forget(caller: Caller, read: Read): void {
    const reads = caller.of(this.#room);
    if (reads?.get(read.target.key) !== read) return;
    reads.delete(read.target.key);
    caller.leave(this.#room);
  }
}
