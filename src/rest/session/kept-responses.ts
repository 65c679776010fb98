import { LRUCache } from "lru-cache";
import type { SharedResponse } from "./shared-response.ts";

export interface KeepSettings {
  /** How long a response is kept after its request began, in milliseconds; 0: not at all. */
  readonly ttlMs: number;
  /** Maximum bytes of kept responses, over all callers. */
  readonly maxBytes: number;
  /** Milliseconds since any fixed point. */
  readonly now: () => number;
}

interface Stay {
  /** When the request of the response began. */
  readonly began: number;
  /** Whether the response seldom changes. */
  readonly isSteady: boolean;
  /** Called when the response is not kept any more. */
  readonly onRemoved: () => void;
}

/** How many times longer a response is kept that seldom changes. */
const STEADY_FACTOR = 5;

/** Bytes of a kept response besides what was received. */
const ENTRY_BYTES = 1_000;

/** The kept responses of all callers. They are no keys to each other: only who has a response can look it up here. */
export class KeptResponses {
  readonly #settings: KeepSettings;
  readonly #stays: LRUCache<SharedResponse, Stay>;

  constructor(settings: KeepSettings) {
    this.#settings = settings;
    this.#stays = new LRUCache<SharedResponse, Stay>({
      maxSize: settings.maxBytes,
      ttl: settings.ttlMs,
      // Responses of callers who left must not stay in memory.
      ttlAutopurge: true,
      ttlResolution: 0,
      // A start of 0 means none to lru-cache.
      perf: { now: () => settings.now() + 1 },
      dispose: ({ onRemoved }) => onRemoved(),
    });
  }

  /** Keeps a response. Returns false when it is too old or too long. */
  add(response: SharedResponse, stay: Stay): boolean {
    const { ttlMs, now } = this.#settings;
    const ttl = Math.floor(stay.began + ttlMs * (stay.isSteady ? STEADY_FACTOR : 1) - now());
    if (ttl <= 0) return false;
    this.#stays.set(response, stay, { ttl, size: response.bytes + ENTRY_BYTES });
    return this.#stays.has(response);
  }

  /** Whether a response is still kept. */
  has(response: SharedResponse): boolean {
    return this.#stays.get(response) !== undefined;
  }

  delete(response: SharedResponse): void {
    this.#stays.delete(response);
  }
}
