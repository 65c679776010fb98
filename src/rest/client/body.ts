import { pipeline, type Readable, type Transform } from "node:stream";
import { promisify } from "node:util";
import { brotliDecompress, createBrotliDecompress, createUnzip, unzip } from "node:zlib";

/** A body above its size limit. */
export class TooLarge extends Error {
  constructor(limit: number) {
    super(`longer than ${limit} bytes`);
  }
}

/** An unsupported response: an unknown encoding, an invalid status, a protocol upgrade. */
export class NotUnderstood extends Error {}

/** Decodes gzip and the zlib format, which `deflate` means. */
const ZLIB = { whole: promisify(unzip), stream: createUnzip };

const DECODERS: ReadonlyMap<string, Decoder | null> = new Map([
  ["", null],
  ["identity", null],
  ["gzip", ZLIB],
  ["x-gzip", ZLIB],
  ["deflate", ZLIB],
  ["br", { whole: promisify(brotliDecompress), stream: createBrotliDecompress }],
]);

export interface Decoder {
  readonly whole: (body: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;
  readonly stream: () => Transform;
}

/** The decoder for a `content-encoding`: null where the body is as it is, undefined for an unknown one. */
export const decoderOf = (header: string | null): Decoder | null | undefined =>
  DECODERS.get((header ?? "").trim().toLowerCase());

/** Decodes a whole body. Rejects with `TooLarge` as soon as the output exceeds `limit` bytes. */
export async function decodeBody(body: Buffer, encoding: string, limit: number): Promise<Buffer> {
  const decoder = decoderOf(encoding);
  if (decoder === undefined) throw new NotUnderstood();
  // A response without a body may still have an encoding header.
  if (!decoder || body.length === 0) return body;
  try {
    return await decoder.whole(body, { maxOutputLength: limit });
  } catch (error) {
    throw error instanceof RangeError ? new TooLarge(limit) : error;
  }
}

/** Decodes a stream. The returned stream ends, fails and is destroyed together with the source. */
export const decodeStream = (source: Readable, decoder: Decoder | null): Readable =>
  decoder ? pipeline(source, decoder.stream(), () => {}) : source;

/** Reads a whole stream. Rejects with `TooLarge` and destroys the stream when it exceeds `limit` bytes. */
export async function readWhole(stream: Readable, limit: number): Promise<Buffer> {
  const collector = new Collector(limit);
  for await (const chunk of stream as AsyncIterable<Buffer>) collector.add(chunk);
  return collector.bytes();
}

/** Concatenates chunks up to `limit` bytes. */
export class Collector {
  readonly #limit: number;
  #bytes: Buffer | null = null;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds a chunk. Throws `TooLarge` above the limit. */
  add(chunk: Buffer): void {
    const end = this.#size + chunk.length;
    if (end > this.#limit) throw new TooLarge(this.#limit);
    if (!this.#bytes) this.#bytes = chunk;
    else {
      // Copied, because a body can arrive in a million chunks of one byte.
      if (end > this.#bytes.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(16_384, end * 2));
        this.#bytes.copy(larger, 0, 0, this.#size);
        this.#bytes = larger;
      }
      chunk.copy(this.#bytes, this.#size);
    }
    this.#size = end;
  }

  bytes(): Buffer {
    return this.#bytes?.subarray(0, this.#size) ?? Buffer.alloc(0);
  }
}
