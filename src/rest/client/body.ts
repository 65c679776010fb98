import { once } from "node:events";
import { pipeline, type Readable } from "node:stream";
import { promisify } from "node:util";
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  gunzip,
  inflate,
  inflateRaw,
} from "node:zlib";

/** A body above its size limit. */
export class TooLarge extends Error {
  constructor(limit: number) {
    super(`longer than ${limit} bytes`);
  }
}

/** An unsupported response: an unknown encoding, an invalid status, a protocol upgrade. */
export class NotUnderstood extends Error {}

type Encoding = "gzip" | "deflate" | "br";

const ENCODINGS: ReadonlyMap<string, readonly Encoding[]> = new Map([
  ["", []],
  ["identity", []],
  ["gzip", ["gzip"]],
  ["x-gzip", ["gzip"]],
  ["deflate", ["deflate"]],
  ["br", ["br"]],
]);

/** Each encoding can inflate a body a thousandfold; real servers use one. */
const MAX_ENCODINGS = 2;

/** Parses `content-encoding` into the encodings in decoding order. Throws `NotUnderstood`. */
export function encodingsOf(header: string | null): readonly Encoding[] {
  const names = (header ?? "").split(",", MAX_ENCODINGS + 1);
  const encodings = names.map((name) => ENCODINGS.get(name.trim().toLowerCase()));
  if (encodings.length > MAX_ENCODINGS || encodings.includes(undefined)) throw new NotUnderstood();
  return encodings.flatMap((encoding) => encoding ?? []).toReversed();
}

const ZLIB = { whole: promisify(inflate), stream: createInflate };
const RAW = { whole: promisify(inflateRaw), stream: createInflateRaw };

/** `deflate` means the zlib format; some servers send raw deflate, which cannot start with zlib's header. */
const DECODERS = {
  gzip: () => ({ whole: promisify(gunzip), stream: createGunzip }),
  br: () => ({ whole: promisify(brotliDecompress), stream: createBrotliDecompress }),
  deflate: (body: Buffer) => (((body[0] ?? 0) & 0x0f) === 8 ? ZLIB : RAW),
};

/** Decodes a whole body. Rejects with `TooLarge` as soon as the output exceeds `limit` bytes. */
export async function decodeBody(
  body: Buffer,
  encodings: readonly Encoding[],
  limit: number,
): Promise<Buffer> {
  const [encoding, ...inner] = encodings;
  // A response without a body may still have an encoding header.
  if (!encoding || body.length === 0) return body;
  try {
    const decoded = await DECODERS[encoding](body).whole(body, { maxOutputLength: limit });
    return await decodeBody(decoded, inner, limit);
  } catch (error) {
    throw error instanceof RangeError ? new TooLarge(limit) : error;
  }
}

/** Decodes a stream. The returned stream ends, fails and is destroyed together with the source. */
export async function decodeStream(source: Readable, encodings: readonly Encoding[]): Promise<Readable> {
  const [encoding, ...inner] = encodings;
  const first = encoding ? await firstChunk(source) : null;
  if (!encoding || !first) return source;
  const decoded = pipeline(source, DECODERS[encoding](first).stream(), () => {});
  return decodeStream(decoded, inner);
}

/** Peeks at the first chunk of a stream. Returns null when the stream is empty. */
async function firstChunk(stream: Readable): Promise<Buffer | null> {
  await once(stream, "readable");
  const chunk = stream.read() as Buffer | null;
  if (chunk) stream.unshift(chunk);
  return chunk;
}

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
