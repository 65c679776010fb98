import { UpstreamError } from "../../errors.ts";
import { TransientMap } from "../../transient.ts";
import { isSteady } from "../api/steady.ts";
import { type KeepSettings, KeptResponses } from "./kept-responses.ts";
import { SharedRead, type Sharer } from "./shared-read.ts";
import { SharedResponse } from "./shared-response.ts";

export interface SharingSettings extends KeepSettings {
  /** Called for each read that needs no request of its own. */
  readonly onShared: (from: "in flight" | "kept") => void;
}

/**
 * Shares the reads of one caller between its operations: those in flight, and their responses for a moment. Callers share
 * nothing, not even a map of keys. Own code: packages that merge equal requests share a promise, which fails with the
 * operation that made it, and know neither limits nor commands.
 */
export class SharedReads {
  readonly #settings: SharingSettings;
  readonly #callers = new TransientMap<CallerReads>();
  readonly #kept: KeptResponses | null;

  constructor(settings: SharingSettings) {
    this.#settings = settings;
    this.#kept = settings.ttlMs === 0 ? null : new KeptResponses(settings);
  }

  /** Shares a read of another operation of the caller, or sends the request for itself and for others. */
  read(callerKey: string, sharer: Sharer): void {
    const from = this.#callers.get(callerKey)?.share(sharer);
    if (from) {
      this.#settings.onShared(from);
      sharer.note?.serve(from === "kept" ? "cache" : "joined");
    } else this.#readsOf(callerKey).start(sharer, true);
  }

  /** Sends the request of a read. No later read gets an older response. */
  readAnew(callerKey: string, sharer: Sharer): void {
    this.#readsOf(callerKey).start(sharer, false);
  }

  /** Ends the sharing of what the caller has requested so far: what starts from now on reads anew. */
  cut(callerKey: string): void {
    const reads = this.#callers.get(callerKey);
    this.#callers.delete(callerKey);
    reads?.clear();
  }

  #readsOf(callerKey: string): CallerReads {
    const existing = this.#callers.get(callerKey);
    if (existing) return existing;
    const reads = new CallerReads(this.#settings.now, this.#kept, {
      onEmpty: () => {
        if (this.#callers.get(callerKey) === reads) this.#callers.delete(callerKey);
      },
      onSignedOut: () => this.cut(callerKey),
    });
    this.#callers.set(callerKey, reads);
    return reads;
  }
}

interface CallerEvents {
  readonly onEmpty: () => void;
  /** Called when the service rejects the token. */
  readonly onSignedOut: () => void;
}

/** The reads of one caller since its last command, by their keys. */
class CallerReads {
  readonly #now: () => number;
  readonly #kept: KeptResponses | null;
  readonly #events: CallerEvents;
  #shared = new TransientMap<SharedRead | SharedResponse>();

  constructor(now: () => number, kept: KeptResponses | null, events: CallerEvents) {
    this.#now = now;
    this.#kept = kept;
    this.#events = events;
  }

  /** Shares a read that is in flight or kept. Returns null when there is none. */
  share(sharer: Sharer): "in flight" | "kept" | null {
    const existing = this.#shared.get(sharer.key);
    if (existing instanceof SharedRead) {
      if (!existing.isOpen) return null;
      existing.join(sharer);
      return "in flight";
    }
    if (!existing || !this.#kept?.has(existing)) return null;
    existing.deliver(sharer);
    return "kept";
  }

  start(sharer: Sharer, isOpen: boolean): void {
    const { key } = sharer;
    const replaced = this.#shared.get(key);
    const read = new SharedRead(sharer, this, this.#now, isOpen);
    this.#shared.set(key, read);
    if (replaced instanceof SharedResponse) this.#kept?.delete(replaced);
    read.send();
  }

  clear(): void {
    const all = this.#shared.values();
    this.#shared = new TransientMap();
    for (const each of all) if (each instanceof SharedResponse) this.#kept?.delete(each);
  }

  succeeded(read: SharedRead, value: unknown, bytes: number): SharedResponse | null {
    const { owner, began } = read;
    const { key, endpoint } = owner;
    // A command or a later read has taken its place.
    if (this.#shared.get(key) !== read) return null;
    if (this.#kept) {
      const response = new SharedResponse(value, bytes, owner);
      this.#shared.set(key, response);
      const forget = () => this.#forget(key, response);
      if (this.#kept.add(response, { began, isSteady: isSteady(endpoint, value), onRemoved: forget }))
        return response;
      forget();
    } else this.#forget(key, read);
    return null;
  }

  failed(read: SharedRead, error: unknown): void {
    this.#forget(read.owner.key, read);
    if (error instanceof UpstreamError && error.code === "UNAUTHENTICATED") this.#events.onSignedOut();
  }

  #forget(key: string, read: SharedRead | SharedResponse): void {
    if (this.#shared.get(key) !== read) return;
    this.#shared.delete(key);
    if (this.#shared.size === 0) this.#events.onEmpty();
  }
}
