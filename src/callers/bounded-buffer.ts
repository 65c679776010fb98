import { ResponseTooLargeError } from "../errors.ts";

/** Is charged for memory before the memory is allocated. `chargeMemory` throws `GatewayError` above the limit of the account. */
export interface MemoryAccount {
  chargeMemory(bytes: number): void;
}

export const EMPTY: Buffer = Buffer.alloc(0);

/** A chunk takes one or two microseconds, even with one byte. Node can read 10,000 of them before the gateway can stop a body. */
const MAX_SHORT_CHUNKS = 10_000;
const SHORT_CHUNK_BYTES = 16;

export const IN_SHORT_CHUNKS = `in more than ${MAX_SHORT_CHUNKS} chunks of fewer than ${SHORT_CHUNK_BYTES} bytes`;

const MAX_BLOCK_BYTES = 1024 * 1024;

/**
 * A growing byte buffer with a limit. With `all`, it holds up to `size` bytes. With `last`, it discards old bytes, and holds at least the
 * last `size` bytes and at most twice as many. If there are several chunks, each is copied, because a chunk can be a small view of a large
 * buffer. The bytes are stored in blocks. A buffer that grows by doubling would leave up to three times its bytes, uncharged, to the
 * garbage collector.
 */
export class BoundedBuffer {
  /** Number of bytes that were added. `length`: number of bytes that the buffer holds. */
  total = 0;
  length = 0;
  #chunks = 0;
  readonly #size: number;
  readonly #account: MemoryAccount | null;
  readonly #retained: "all" | "last";
  /** The blocks. All except the last one are full. */
  #blocks: Buffer[] = [];
  /** Number of bytes in the last block. */
  #filled = 0;
  /** A discarded block, to be reused for the next bytes. */
  #spare = EMPTY;

  /** `account` is null if the code that creates the buffer charges the bytes. */
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
    // The chunk alone is longer than `size`, so only its last bytes are kept.
    if (chunk.length > this.#size) return this.#begin(chunk.subarray(-this.#size));
    const [first] = this.#blocks;
    if (!first) return this.#begin(chunk);
    // The first chunk was stored without a copy.
    if (this.#chunks === 2) {
      this.#blocks = [];
      this.#filled = this.length = 0;
      this.#copy(first, first.length + chunk.length);
    }
    this.#copy(chunk, chunk.length);
    if (this.#retained === "last") this.#discard();
  }

  #begin(chunk: Buffer): void {
    this.#blocks = [this.#chunks === 1 ? chunk : Buffer.from(chunk)];
    this.#filled = this.length = chunk.length;
  }

  /** Copies a chunk into the last block and, if it does not fit, a new block. `room`: minimum size of the new block. */
  #copy(chunk: Buffer, room: number): void {
    const last = this.#blocks.at(-1) ?? EMPTY;
    const copied = chunk.copy(last, this.#filled);
    this.#filled += copied;
    this.length += chunk.length;
    if (copied === chunk.length) return;
    const bytes = Math.max(
      room - copied,
      Math.min(2 * Math.max(this.length, room), MAX_BLOCK_BYTES, this.#size),
    );
    const block = this.#spare.length < room - copied ? Buffer.allocUnsafeSlow(bytes) : this.#spare;
    this.#spare = EMPTY;
    this.#blocks.push(block);
    this.#filled = chunk.copy(block, 0, copied);
  }

  /** Discards blocks from the start while at least `size` bytes are left. */
  #discard(): void {
    for (let first = this.#blocks[0]; first && this.#blocks.length > 1; first = this.#blocks[0]) {
      if (this.length - first.length < this.#size) return;
      this.#blocks.shift();
      this.length -= first.length;
      this.#spare = first;
    }
  }

  isInShortChunks(): boolean {
    return this.#chunks > MAX_SHORT_CHUNKS + this.total / SHORT_CHUNK_BYTES;
  }

  bytes(): Buffer {
    const [first = EMPTY] = this.#blocks;
    if (this.#blocks.length <= 1) return this.length < first.length ? first.subarray(0, this.length) : first;
    const whole = Buffer.concat(this.#blocks, this.length);
    this.#blocks = [whole];
    this.#filled = whole.length;
    return whole;
  }
}
