import { LRUCache } from "lru-cache";
import type { Caller, Callers, Room } from "../../caller.ts";
import { Cancelled, serviceShownBy, UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import { TransientMap } from "../../transient.ts";
import type { Batch, RunRead } from "../api/batches.ts";
import type { Get } from "../api/endpoint.ts";
import { freshnessOf } from "../api/freshness.ts";
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
  /** What it shares with other operations of the caller; null when it shares nothing. */
  readonly shared: CallerReads | null;
  /** Whether it uses nothing that was requested before. Others do not wait for its requests, which may not be retried. */
  readonly isFresh: boolean;
  /** The reads that it has started. They are left when it ends. */
  readonly started: Read[];
}

/**
 * One GET: an operation gathers it; while it is in flight, equal reads of the caller's other operations wait for it;
 * then its response may be kept. The request uses the queue, budget and deadline of its operation. If that operation
 * ends or reaches a limit first, the reads that wait send requests of their own, each within its own limits.
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
  /** Whether others may wait for its request, and when that began. */
  isOpen = true;
  began = 0;
  isAnswered = false;
  /** What was received, and how many bytes of memory it takes. */
  value: unknown = undefined;
  bytes = 0;
  /** The operation, while the read waits for a response; then null, so that a kept response does not retain it. */
  #reader: Reader | null = null;
  /** The read whose response it waits for, or whose response its operation holds. */
  #source: Read | null = null;
  /** Reads of the same operation that are answered by its response; null if there are none. */
  #members: Read[] | null = null;
  /** Equal reads of other operations; null if there are none. */
  #waiting: Read[] | null = null;
  /** Number of operations that hold its response: its bytes count for the caller until the last one has ended. */
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

  /** Records that its response will answer another read of the operation. */
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
    shared?.all.settings.onShared(equal.isAnswered ? "kept" : "in flight");
    this.note?.serve(equal.isAnswered ? "cache" : "joined");
  }

  /** Called when its operation ends: it stops waiting and holds no response. The client ends a request in flight. */
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
      // The client has counted them until the operation ends; other operations may hold them longer.
      upstream.held.detach(bytes);
      this.#holders = 1;
      this.#source = this;
      shared?.keep(this);
    } else shared?.remove(this);
    this.resolve(value);
    this.#waiting?.forEach((read) => this.#deliver(read));
    this.#waiting = null;
  }

  failed(error: unknown): void {
    const reader = this.#takeReader();
    if (!reader) return;
    reader.shared?.remove(this);
    if (error instanceof UpstreamError && error.code === "UNAUTHENTICATED") reader.shared?.cut();
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
    const { shared, upstream, token, isFresh } = reader;
    const { offered, path, window, key } = this.target;
    this.#reader = reader;
    const equal = (!isFresh && shared?.find(key)) || null;
    if (equal?.isAnswered) equal.#deliver(this);
    else if (equal) {
      this.#source = equal;
      (equal.#waiting ??= []).push(this);
    } else {
      this.isOpen = !isFresh;
      shared?.add(this);
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
    try {
      if (this.#holders === 0) {
        reader.upstream.held.add(this.bytes);
        reader.upstream.held.detach(this.bytes);
      }
      this.#holders++;
      read.#source = this;
      read.resolve(this.value);
    } catch (error) {
      read.reject(error);
    }
  }

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
  /** Maximum bytes of kept responses, over all callers, with `ENTRY_BYTES` for each. */
  readonly maxBytes: number;
  /** Milliseconds since any fixed point. */
  readonly now: () => number;
  /** Called for each read that needs no request of its own. */
  readonly onShared: (from: "in flight" | "kept") => void;
}

const ENTRY_BYTES = 1_000;

/** What the gateway keeps for reads: a room with those of each caller, and one cache. */
export class SharedReads {
  readonly settings: SharingSettings;
  readonly room: Room<CallerReads>;
  /** Kept reads, each with the reads of its caller. */
  readonly kept: LRUCache<Read, CallerReads> | null = null;

  constructor(settings: SharingSettings, callers: Callers) {
    this.settings = settings;
    this.room = callers.room((caller) => new CallerReads(this, caller));
    if (settings.ttlMs === 0) return;
    this.kept = new LRUCache({
      maxSize: settings.maxBytes,
      ttl: settings.ttlMs,
      // Responses of callers who left must not stay in memory.
      ttlAutopurge: true,
      ttlResolution: 0,
      // lru-cache takes a start of 0 for none.
      perf: { now: () => settings.now() + 1 },
      dispose: (reads, read) => reads.forget(read),
    });
  }
}

/**
 * The reads of one caller since its last command: in flight, or kept. Own code: packages that merge equal requests share a
 * promise, which fails with the operation that made it, and know neither limits nor commands.
 */
class CallerReads {
  readonly all: SharedReads;
  readonly #caller: Caller;
  readonly #byKey = new TransientMap<Read>();

  constructor(all: SharedReads, caller: Caller) {
    this.all = all;
    this.#caller = caller;
  }

  /** The read that an equal one may share; undefined without one. */
  find(key: string): Read | undefined {
    const read = this.#byKey.get(key);
    return (read?.isAnswered ? this.all.kept?.get(read) : read?.isOpen) ? read : undefined;
  }

  /** Adds a read whose request begins. No later read gets an older response. */
  add(read: Read): void {
    read.began = this.all.settings.now();
    const older = this.#byKey.get(read.target.key);
    if (older) this.remove(older);
    this.#byKey.set(read.target.key, read);
  }

  remove(read: Read): void {
    // The cache disposes of a kept one.
    if (!this.all.kept?.delete(read) && this.#has(read)) this.#byKey.delete(read.target.key);
  }

  /** Keeps an answered read, unless it is too old or too large, or a command or a later read has replaced it. */
  keep(read: Read): void {
    const { kept, room, settings } = this.all;
    if (kept && this.#has(read)) {
      const keptMs = settings.ttlMs * freshnessOf(read.target.endpoint, read.value);
      const ttl = Math.floor(read.began + keptMs - settings.now());
      if (ttl > 0) kept.set(read, this, { ttl, size: read.bytes + ENTRY_BYTES });
      if (kept.has(read)) return void this.#caller.enter(room);
    }
    this.remove(read);
  }

  /** Called when a read is no longer kept. */
  forget(read: Read): void {
    if (this.#has(read)) this.#byKey.delete(read.target.key);
    this.#caller.leave(this.all.room);
  }

  /** Ends the sharing of what the caller has requested so far: reads that start later send new requests. */
  cut(): void {
    for (const read of this.#byKey.values()) this.remove(read);
  }

  #has(read: Read): boolean {
    return this.#byKey.get(read.target.key) === read;
  }
}
