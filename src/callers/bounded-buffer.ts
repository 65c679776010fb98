import { ResponseTooLargeError } from "../errors.ts";

/** Receives the number of bytes that are about to be kept in memory. Throws `GatewayError` above a limit. */
export interface MemoryAccount {
  chargeMemory(bytes: number): void;
}

export const EMPTY: Buffer = Buffer.alloc(0);

/**
 * A chunk costs a microsecond or two, however short it is. A body may have one chunk for each 16 bytes, and 10,000 more: Node can read
 * that many one-byte chunks before the gateway can stop it.
 */
const MAX_SHORT_CHUNKS = 10_000;
const SHORT_CHUNK_BYTES = 16;

export const IN_SHORT_CHUNKS = `in more than ${MAX_SHORT_CHUNKS} chunks of fewer than ${SHORT_CHUNK_BYTES} bytes`;

/**
 * A growing byte buffer with a limit. With `all` it holds up to `size` bytes; with `last` it discards old bytes and holds at least the
 * last `size` bytes, at most twice as many. Every chunk but the first is copied, because a chunk can be a small view of a large buffer.
 */
export class BoundedBuffer {
  /** Number of bytes that were added (`total`), and that the buffer holds (`length`). */
  total = 0;
  length = 0;
  #chunks = 0;
  readonly #size: number;
  readonly #account: MemoryAccount | null;
  readonly #retained: "all" | "last";
  #memory = EMPTY;

  /** `account` is null if the caller of the constructor charges the bytes itself. */
  constructor(size: number, account: MemoryAccount | null, retained: "all" | "last" = "all") {
    this.#size = size;
    this.#account = account;
    this.#retained = retained;
  }

  /** Adds a chunk. Throws `ResponseTooLargeError` above `size` bytes with `all`, and `GatewayError` above the limit of the account. */
  add(chunk: Buffer): void {
    const kept = Math.min(this.total, 2 * this.#size);
    this.total += chunk.length;
    this.#chunks++;
    if (this.#retained === "all" && this.total > this.#size) throw new ResponseTooLargeError(this.#size);
    this.#account?.chargeMemory(Math.min(this.total, 2 * this.#size) - kept);
    const added = chunk.length > this.#size ? chunk.subarray(-this.#size) : chunk;
    if (this.length === 0) this.#memory = added;
    else if (this.length + added.length > this.#memory.length) this.#makeRoom(added.length);
    if (this.length > 0) added.copy(this.#memory, this.length);
    this.length += added.length;
  }

  /** Doubles the memory up to twice `size`. After that it discards old bytes, once per `size` added bytes. */
  #makeRoom(more: number): void {
    const needed = this.length + more;
    const size = this.#size;
    const kept = this.#memory.subarray(needed > 2 * size ? needed - size : 0, this.length);
    if (this.#memory.length < 2 * size)
      this.#memory = Buffer.allocUnsafeSlow(Math.min(2 * size, Math.max(2 * this.#memory.length, needed)));
    kept.copy(this.#memory);
    this.length = kept.length;
  }

  isInShortChunks(): boolean {
    return this.#chunks > MAX_SHORT_CHUNKS + this.total / SHORT_CHUNK_BYTES;
  }

  bytes(): Buffer {
    return this.length < this.#memory.length ? this.#memory.subarray(0, this.length) : this.#memory;
  }
}
