import { LRUCache } from "lru-cache";
import type { Caller, CallerRegistry, PerCaller } from "../../callers/callers.ts";
import { isGatewayError } from "../../errors.ts";
import { CompactingMap } from "../../util/compacting-map.ts";
import type { BatchRule } from "../api/batch-rules.ts";
import type { AnyEndpoint } from "../api/endpoint.ts";
import { cluster } from "../api/kinds.ts";
import { isObject } from "../api/record.ts";
import type { SharedRead } from "./shared-read.ts";
import { LargePages } from "./large-pages.ts";

export interface SharingSettings {
  /** How long a response is cached, in milliseconds from the start of its request. 0 disables the cache. */
  readonly ttlMs: number;
  /** Maximum age of a stale response that is served in place of a transient error (stale-if-error), in milliseconds. 0 disables it. */
  readonly staleMs: number;
  /** Maximum size of the cache, over all callers, in bytes: the responses and an estimated overhead of each. */
  readonly maxBytes: number;
  /** Milliseconds since any fixed point. */
  readonly now: () => number;
  /** Called for each read that is answered without a request of its own. */
  readonly onShared: (from: "in flight" | "kept" | "stale") => void;
}

/** Estimated overhead of an entry, in bytes: a fixed part, and a part for the strings that contain its key. */
const ENTRY_BYTES = 1_000;
const BYTES_PER_KEY_CHARACTER = 8;

const sizeOf = ({ bytes, target }: SharedRead): number =>
  bytes + ENTRY_BYTES + BYTES_PER_KEY_CHARACTER * target.key.length;

const SELDOM_CHANGING: ReadonlySet<AnyEndpoint> = new Set<AnyEndpoint>([cluster.read, cluster.node]);

/** The factor by which a response is cached longer. The cluster, its nodes and the records of finished runs seldom change. */
const freshnessOf = ({ target: { endpoint } }: SharedRead, value: unknown): number =>
  SELDOM_CHANGING.has(endpoint) || (isObject(value) && typeof value["finished_at"] === "string") ? 5 : 1;

/** The response cache of the gateway, and the requests in flight of each caller. */
export class ReadCache {
  readonly settings: SharingSettings;
  readonly own: PerCaller<CallerReadCache>;
  /** Cached responses, and the cache generation (epoch) of each caller. The generation must outlive the caller and its responses. */
  readonly kept: LRUCache<string, SharedRead | number> | null = null;
  /** Number of cache generations that have begun. */
  epochs = 0;

  constructor(settings: SharingSettings, callers: CallerRegistry) {
    this.settings = settings;
    this.own = callers.perCaller((caller) => new CallerReadCache(this, caller));
    const ttl = Math.max(settings.ttlMs, settings.staleMs);
    if (ttl === 0) return;
    this.kept = new LRUCache({
      maxSize: settings.maxBytes,
      ttl,
      // Otherwise responses of disconnected callers would stay in memory.
      ttlAutopurge: true,
      ttlResolution: 0,
      // lru-cache treats a start time of 0 as "no TTL".
      perf: { now: () => settings.now() + 1 },
    });
  }
}

/**
 * The reads of one caller since its last command: requests in flight and cached responses. Own code, because packages for request
 * coalescing share a promise, which fails with the operation that created it, and they have neither limits nor invalidation by commands.
 */
export class CallerReadCache {
  readonly settings: SharingSettings;
  /** The login name of the user of the token; null if it is unknown. */
  viewer: string | null = null;
  /**
   * The batches whose lists the server rejects although it serves the single reads, each with the time until which this is remembered, in
   * milliseconds since 1970. Callers have separate entries, because the cause may be the input or the rights of one caller.
   */
  readonly refused = new Map<BatchRule, number>();
  readonly largePages = new LargePages();
  readonly #all: ReadCache;
  readonly #caller: Caller;
  /** Cache generation. Entries of earlier generations have other keys and are not found. */
  #epoch: SharedRead | number;
  #inFlight = new CompactingMap<SharedRead>();

  constructor(all: ReadCache, caller: Caller) {
    this.settings = all.settings;
    this.#all = all;
    this.#caller = caller;
    this.#epoch = all.kept?.get(caller.key) ?? 0;
  }

  /** The shared read that can answer an equal read; undefined without one. Never returns an older response than an earlier call. */
  find(key: string): SharedRead | undefined {
    const sharedRead = this.#inFlight.get(key);
    if (sharedRead) return sharedRead.isOpen && !sharedRead.ended ? sharedRead : undefined;
    return this.#findKept(key, ({ freshUntil }) => this.settings.now() <= freshUntil);
  }

  /** The last response to an equal read, for use while the service does not respond; undefined if there is none. */
  findStale(key: string): SharedRead | undefined {
    const { staleMs, now } = this.settings;
    return this.#findKept(key, ({ began }) => staleMs > 0 && now() - began <= staleMs);
  }

  add(sharedRead: SharedRead): void {
    this.#inFlight.set(sharedRead.target.key, sharedRead);
  }

  /** Removes an ended request, unless another one has replaced it. `mayServeStale`: the cached response may be valid, and stays. */
  remove(sharedRead: SharedRead, mayServeStale: boolean): void {
    const { key } = sharedRead.target;
    if (this.#inFlight.get(key) !== sharedRead) return;
    this.#inFlight.delete(key);
    if (!mayServeStale) this.#all.kept?.delete(this.#keyOf(key));
  }

  /** Caches the response in place of an earlier one, unless it is too old or too large. */
  keep(sharedRead: SharedRead, value: unknown): void {
    const { ttlMs, staleMs, now } = this.settings;
    const { target, began } = sharedRead;
    const isLatest = this.#inFlight.get(target.key) === sharedRead;
    this.remove(sharedRead, false);
    if (!isLatest) return;
    if (ttlMs > 0) sharedRead.freshUntil = began + ttlMs * freshnessOf(sharedRead, value);
    const ttl = Math.floor(Math.max(sharedRead.freshUntil, began + staleMs) - now());
    if (ttl > 0) this.#all.kept?.set(this.#keyOf(target.key), sharedRead, { ttl, size: sizeOf(sharedRead) });
  }

  /** Ends the sharing after an error which shows that the token has no user. The service may assign the token to another user. */
  endAfter(error: unknown): void {
    if (isGatewayError(error, "UNAUTHENTICATED")) this.endSharing();
  }

  /** Ends the sharing of all earlier requests of the caller. Reads that start later send new requests. */
  endSharing(): void {
    this.#epoch = ++this.#all.epochs;
    this.#all.kept?.set(this.#caller.key, this.#epoch, { ttl: 0, size: ENTRY_BYTES });
    this.#inFlight = new CompactingMap();
  }

  #findKept(key: string, isUsable: (kept: SharedRead) => boolean): SharedRead | undefined {
    const kept = this.#all.kept?.get(this.#keyOf(key));
    return typeof kept === "object" && isUsable(kept) ? kept : undefined;
  }

  #keyOf(key: string): string {
    return `${this.#caller.key} ${this.#epoch} ${key}`;
  }
}
