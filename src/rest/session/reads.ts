import { isForNow, isOwnFault, UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { Batch, RunRead } from "../api/batches.ts";
import type { Get } from "../api/endpoint.ts";
import type { Outcome } from "../client/attempt.ts";
import type { Demand } from "../../bulkhead.ts";
import type { ReadPart, Upstream } from "../client/client.ts";
import { endedError } from "../client/failure.ts";
import type { ReadNote } from "./notes.ts";

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

/** What the operations of a caller share, since its last command. */
export interface Sharing {
  /** The read that an equal one may share; undefined without one. No later read gets an older response. */
  find(key: string): Read | undefined;
  /** The last response to an equal read, for use while the service gives none; undefined without one. */
  findStale(key: string): Read | undefined;
  add(read: Read): void;
  /** Removes a read whose request has failed. `isForNow`: a kept response may still be true, and stays. */
  remove(read: Read, isForNow: boolean): void;
  /** Keeps an answered read, unless it is too old or too large, or a command or a later read has replaced it. */
  keep(read: Read): void;
  /** Ends the sharing of what the caller has requested so far: reads that start later send new requests. */
  endSharing(): void;
  readonly settings: {
    readonly now: () => number;
    /** Receives each read that needs no request of its own. */
    readonly onShared: (from: "in flight" | "kept" | "stale") => void;
  };
}

/** An operation that reads. */
export interface Reader {
  readonly scope: RequestScope;
  readonly upstream: Upstream;
  readonly token: string | null;
  /** What it shares with other operations of the caller; null when it shares nothing. */
  readonly shared: Sharing | null;
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
  /** Number of positions in results that wait for it. Reads with more positions are requested first. */
  positions = 0;
  /** Null unless notes are wanted. */
  note: ReadNote | null = null;
  /** Whether others may wait for its request, and when the request began. */
  isOpen = true;
  began = 0;
  /** Until when other operations may use its response. */
  freshUntil = Number.NEGATIVE_INFINITY;
  isAnswered = false;
  /** What was received, and how many bytes of memory it takes. */
  value: unknown = undefined;
  bytes = 0;
  /** The operation, while the read waits for a response; then null, so that a kept response does not retain it. */
  #reader: Reader | null = null;
  /** The read whose response it waits for, or whose response its operation holds. */
  #source: Read | null = null;
  /** The read whose response will answer it, of this operation or another one; null without one. */
  #answeredBy: Read | null = null;
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

  /** Adds positions that wait for it, and so for what will answer it. */
  addPositions(count: number): void {
    this.positions += count;
    this.#answeredBy?.addPositions(count);
  }

  /** Records that its response will answer another read. */
  answers(read: Read): void {
    if (this.isAnswered) return;
    read.#answeredBy = this;
    this.addPositions(read.positions);
  }

  /** Takes the kept response of an equal read, waits for one that is in flight, or sends the request. */
  start(reader: Reader): void {
    const { scope, shared, started } = reader;
    if (scope.ended) return this.reject(endedError(this.target.offered, scope, false));
    started.push(this);
    const equal = this.#ask(reader);
    if (!equal) return;
    shared?.settings.onShared(equal.isAnswered ? "kept" : "in flight");
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
      source.addPositions(-this.positions);
      this.#answeredBy = null;
      this.#reader = null;
      this.reject(endedError(this.target.offered, scope, true));
    }
  }

  succeeded(value: unknown, bytes: number): void {
    const reader = this.#takeReader();
    if (!reader) return;
    const { shared } = reader;
    if (this.#hold(reader, value, bytes)) shared?.keep(this);
    else shared?.remove(this, true);
    this.resolve(value);
    this.#waiting?.forEach((read) => this.#deliver(read));
    this.#waiting = null;
  }

  failed(error: unknown): void {
    const reader = this.#takeReader();
    if (!reader) return;
    const { shared } = reader;
    shared?.remove(this, isOwnFault(error) || isForNow(error));
    if (error instanceof UpstreamError && error.code === "UNAUTHENTICATED") shared?.endSharing();
    this.#fail(reader, error);
    this.#waiting?.forEach((read) => {
      const waiting = read.#takeReader();
      if (waiting && isOwnFault(error)) read.#ask(waiting);
      else if (waiting) read.#fail(waiting, error);
    });
    this.#waiting = null;
  }

  /** Takes the last known response if the service gives none for now; otherwise fails. */
  #fail(reader: Reader, error: unknown): void {
    const { shared } = reader;
    const mayBeStale = isForNow(error) && this.#takesStale(reader);
    const stale = mayBeStale ? shared?.findStale(this.target.key) : undefined;
    if (!shared || !stale) return this.reject(error);
    this.#reader = reader;
    shared.settings.onShared("stale");
    this.note?.stale(shared.settings.now() - stale.began);
    stale.#deliver(this);
  }

  /** Holds the response until the operation ends. Returns false when it has ended. */
  #hold({ upstream, scope }: Reader, value: unknown, bytes: number): boolean {
    this.isAnswered = true;
    this.value = value;
    this.bytes = bytes;
    if (scope.ended) return false;
    // The client has counted them until the operation ends; other operations may hold them longer.
    upstream.held.detach(bytes);
    this.#holders = 1;
    this.#source = this;
    return true;
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
      equal.answers(this);
    } else {
      this.isOpen = !isFresh;
      shared?.add(this);
      const isPatient = !this.#takesStale(reader) || !shared?.findStale(key);
      const request = { endpoint: offered, path, token, demand: this, note: this.note, isPatient };
      if (window) upstream.readPart(request, window, this);
      else upstream.json(request, this);
    }
    return equal;
  }

  /** Whether an earlier response may answer while the service gives none: the result must tell that. */
  #takesStale({ isFresh, scope }: Reader): boolean {
    return !isFresh && !scope.ended && this.note !== null;
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

  /** Ends the wait: returns the operation if the read still waits for a response, otherwise null. Only the first call does. */
  #takeReader(): Reader | null {
    const reader = this.#reader;
    this.#reader = null;
    this.#source = null;
    this.#answeredBy = null;
    return reader;
  }
}
