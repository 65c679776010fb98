import { LRUCache } from "lru-cache";
import type { Callers, Kept } from "../../caller.ts";
import { TransientMap } from "../../transient.ts";
import type { AnyEndpoint } from "../api/endpoint.ts";
import { cluster } from "../api/kinds.ts";
import { isObject } from "../api/record.ts";
import type { Entry } from "./entry.ts";

export interface SharingSettings {
  /** How long a response is kept after its request began, in milliseconds; 0: not at all. */
  readonly ttlMs: number;
  /** How old a response may be that answers while the service refuses or is away, in milliseconds; 0: none does. */
  readonly staleMs: number;
  /** Maximum bytes of kept responses, over all callers, with `ENTRY_BYTES` for each. */
  readonly maxBytes: number;
  /** Milliseconds since any fixed point. */
  readonly now: () => number;
  /** Called for each read that needs no request of its own. */
  readonly onShared: (from: "in flight" | "kept" | "stale") => void;
}

const ENTRY_BYTES = 1_000;

const SELDOM_CHANGING: ReadonlySet<AnyEndpoint> = new Set<AnyEndpoint>([cluster.read, cluster.node]);

/** How many times longer a response is kept: the cluster, its machines and the record of a run that has ended seldom change. */
const freshnessOf = ({ target: { endpoint } }: Entry, value: unknown): number =>
  SELDOM_CHANGING.has(endpoint) || (isObject(value) && typeof value["finished_at"] === "string") ? 5 : 1;

/** What the gateway keeps for reads: those of each caller, and one cache. */
export class SharedReads {
  readonly settings: SharingSettings;
  readonly own: Kept<CallerReads>;
  /** Kept entries, each with the reads of its caller. */
  readonly kept: LRUCache<Entry, CallerReads> | null = null;

  constructor(settings: SharingSettings, callers: Callers) {
    this.settings = settings;
    this.own = callers.keep(() => new CallerReads(this));
    const ttl = Math.max(settings.ttlMs, settings.staleMs);
    if (ttl === 0) return;
    this.kept = new LRUCache({
      maxSize: settings.maxBytes,
      ttl,
      // Responses of callers who left must not stay in memory.
      ttlAutopurge: true,
      ttlResolution: 0,
      // lru-cache takes a start of 0 for none.
      perf: { now: () => settings.now() + 1 },
      dispose: (reads, entry) => reads.forget(entry),
    });
  }
}

/**
 * The reads of one caller since its last command: in flight, or kept. Own code: packages that merge equal requests share a
 * promise, which fails with the operation that made it, and know neither limits nor commands.
 */
export class CallerReads {
  readonly settings: SharingSettings;
  readonly #all: SharedReads;
  readonly #inFlight = new TransientMap<Entry>();
  readonly #kept = new TransientMap<Entry>();

  constructor(all: SharedReads) {
    this.#all = all;
    this.settings = all.settings;
  }

  /** What may answer an equal read; undefined without it. No later read gets an older response. */
  find(key: string): Entry | undefined {
    const entry = this.#inFlight.get(key);
    if (entry) return entry.isOpen && !entry.ended ? entry : undefined;
    const kept = this.#all.kept && this.#keptOf(key);
    return kept && this.settings.now() <= kept.freshUntil ? kept : undefined;
  }

  /** The last response to an equal read, for use while the service gives none; undefined without one. */
  findStale(key: string): Entry | undefined {
    const { staleMs, now } = this.settings;
    const kept = staleMs > 0 ? this.#keptOf(key) : undefined;
    return kept && now() - kept.began <= staleMs ? kept : undefined;
  }

  add(entry: Entry): void {
    this.#inFlight.set(entry.target.key, entry);
  }

  /** Removes an entry whose request has failed. `isForNow`: a kept response may still be true, and stays. */
  remove(entry: Entry, isForNow: boolean): void {
    const { key } = entry.target;
    if (this.#inFlight.get(key) !== entry) return;
    this.#inFlight.delete(key);
    if (!isForNow) this.#drop(key);
  }

  /** Keeps the response, unless it is too old or too large, or a command or a later read has replaced it. */
  keep(entry: Entry, value: unknown): void {
    const { kept } = this.#all;
    if (!kept) return this.remove(entry, true);
    const { ttlMs, staleMs, now } = this.settings;
    const { target, began } = entry;
    if (this.#inFlight.get(target.key) !== entry) return;
    this.remove(entry, false);
    if (ttlMs > 0) entry.freshUntil = began + ttlMs * freshnessOf(entry, value);
    const ttl = Math.floor(Math.max(entry.freshUntil, began + staleMs) - now());
    if (ttl <= 0) return;
    kept.set(entry, this, { ttl, size: entry.bytes + ENTRY_BYTES });
    if (kept.has(entry)) this.#kept.set(target.key, entry);
  }

  /** Called when an entry is no longer kept. */
  forget(entry: Entry): void {
    if (this.#kept.get(entry.target.key) === entry) this.#kept.delete(entry.target.key);
  }

  /** Ends the sharing of what the caller has requested so far: reads that start later send new requests. */
  endSharing(): void {
    for (const { target } of this.#inFlight.values()) this.#inFlight.delete(target.key);
    for (const entry of this.#kept.values()) this.#all.kept?.delete(entry);
  }

  #keptOf(key: string): Entry | undefined {
    const entry = this.#kept.get(key);
    return entry && this.#all.kept?.get(entry) ? entry : undefined;
  }

  #drop(key: string): void {
    const entry = this.#kept.get(key);
    if (entry) this.#all.kept?.delete(entry);
  }
}
