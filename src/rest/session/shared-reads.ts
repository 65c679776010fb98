import { LRUCache } from "lru-cache";
import type { Caller, Callers, Room } from "../../caller.ts";
import { TransientMap } from "../../transient.ts";
import type { AnyEndpoint } from "../api/endpoint.ts";
import { cluster } from "../api/kinds.ts";
import { isObject } from "../api/record.ts";
import type { Read, Sharing } from "./reads.ts";

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
const freshnessOf = ({ target, value }: Read): number =>
  SELDOM_CHANGING.has(target.endpoint) || (isObject(value) && typeof value["finished_at"] === "string")
    ? 5
    : 1;

/** What the gateway keeps for reads: a room with those of each caller, and one cache. */
export class SharedReads {
  readonly settings: SharingSettings;
  readonly room: Room<CallerReads>;
  /** Kept reads, each with the reads of its caller. */
  readonly kept: LRUCache<Read, CallerReads> | null = null;

  constructor(settings: SharingSettings, callers: Callers) {
    this.settings = settings;
    this.room = callers.room((caller) => new CallerReads(this, caller));
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
      dispose: (reads, read) => reads.forget(read),
    });
  }
}

/**
 * The reads of one caller since its last command: in flight, or kept. Own code: packages that merge equal requests share a
 * promise, which fails with the operation that made it, and know neither limits nor commands.
 */
class CallerReads implements Sharing {
  readonly settings: SharingSettings;
  readonly #all: SharedReads;
  readonly #caller: Caller;
  readonly #inFlight = new TransientMap<Read>();
  readonly #kept = new TransientMap<Read>();

  constructor(all: SharedReads, caller: Caller) {
    this.#all = all;
    this.#caller = caller;
    this.settings = all.settings;
  }

  find(key: string): Read | undefined {
    const read = this.#inFlight.get(key);
    if (read) return read.isOpen ? read : undefined;
    const kept = this.#keptOf(key);
    return kept && this.settings.now() <= kept.freshUntil ? kept : undefined;
  }

  findStale(key: string): Read | undefined {
    const { staleMs, now } = this.settings;
    const kept = staleMs > 0 ? this.#keptOf(key) : undefined;
    return kept && now() - kept.began <= staleMs ? kept : undefined;
  }

  add(read: Read): void {
    read.began = this.settings.now();
    this.#inFlight.set(read.target.key, read);
  }

  remove(read: Read, isForNow: boolean): void {
    const { key } = read.target;
    if (this.#inFlight.get(key) !== read) return;
    this.#inFlight.delete(key);
    if (!isForNow) this.#drop(key);
  }

  keep(read: Read): void {
    const { kept, room } = this.#all;
    const { settings } = this;
    const { key } = read.target;
    if (this.#inFlight.get(key) !== read) return;
    this.#inFlight.delete(key);
    this.#drop(key);
    if (!kept) return;
    if (settings.ttlMs > 0) read.freshUntil = read.began + settings.ttlMs * freshnessOf(read);
    const until = Math.max(read.freshUntil, read.began + settings.staleMs);
    const ttl = Math.floor(until - settings.now());
    if (ttl <= 0) return;
    kept.set(read, this, { ttl, size: read.bytes + ENTRY_BYTES });
    if (!kept.has(read)) return;
    this.#kept.set(key, read);
    this.#caller.enter(room);
  }

  /** Called when a read is no longer kept. */
  forget(read: Read): void {
    if (this.#kept.get(read.target.key) !== read) return;
    this.#kept.delete(read.target.key);
    this.#caller.leave(this.#all.room);
  }

  endSharing(): void {
    for (const { target } of this.#inFlight.values()) this.#inFlight.delete(target.key);
    for (const read of this.#kept.values()) this.#all.kept?.delete(read);
  }

  #keptOf(key: string): Read | undefined {
    const read = this.#kept.get(key);
    return read && this.#all.kept?.get(read) ? read : undefined;
  }

  #drop(key: string): void {
    const read = this.#kept.get(key);
    if (read) this.#all.kept?.delete(read);
  }
}
