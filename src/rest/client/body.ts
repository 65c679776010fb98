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

/** A body that is longer than it may be. */
export class TooLarge extends Error {
  constructor(limit: number) {
    super(`longer than ${limit} bytes`);
  }
}

/** A response that HTTP does not know: an encoding, a status, a change of protocol. */
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

/** Each encoding can multiply a body by a thousand: real servers use one. */
const MAX_ENCODINGS = 2;

/** How a body is compressed, in the order in which it is decoded. Throws `NotUnderstood`. */
export function encodingsOf(header: string | null): readonly Encoding[] {
  const names = (header ?? "").split(",", MAX_ENCODINGS + 1);
  const encodings = names.map((name) => ENCODINGS.get(name.trim().toLowerCase()));
  if (encodings.length > MAX_ENCODINGS || encodings.includes(undefined)) throw new NotUnderstood();
  return encodings.flatMap((encoding) => encoding ?? []).toReversed();
}

const ZLIB = { whole: promisify(inflate), stream: createInflate };
const RAW = { whole: promisify(inflateRaw), stream: createInflateRaw };

/** `deflate` means the zlib format; some servers send the bare stream, which cannot begin with zlib's mark. */
const DECODERS = {
  gzip: () => ({ whole: promisify(gunzip), stream: createGunzip }),
  br: () => ({ whole: promisify(brotliDecompress), stream: createBrotliDecompress }),
  deflate: (body: Buffer) => (((body[0] ?? 0) & 0x0f) === 8 ? ZLIB : RAW),
};

/** Decodes a whole body. Rejects with `TooLarge` when it becomes longer than `limit` bytes; no more are made of it. */
export async function decodeBody(
  body: Buffer,
  encodings: readonly Encoding[],
  limit: number,
): Promise<Buffer> {
  const [encoding, ...inner] = encodings;
  // A response without a body may name an encoding all the same.
  if (!encoding || body.length === 0) return body;
  try {
    const decoded = await DECODERS[encoding](body).whole(body, { maxOutputLength: limit });
    return await decodeBody(decoded, inner, limit);
  } catch (fault) {
    throw fault instanceof RangeError ? new TooLarge(limit) : fault;
  }
}

/** Decodes a body as it comes. The stream that is given ends, fails and is destroyed together with the source. */
export async function decodeStream(source: Readable, encodings: readonly Encoding[]): Promise<Readable> {
  const [encoding, ...inner] = encodings;
  const first = encoding ? await firstChunk(source) : null;
  if (!encoding || !first) return source;
  return decodeStream(
    pipeline(source, DECODERS[encoding](first).stream(), () => {}),
    inner,
  );
}

/** The beginning of a stream, left in it; null when it is empty. */
async function firstChunk(stream: Readable): Promise<Buffer | null> {
  await once(stream, "readable");
  const chunk = stream.read() as Buffer | null;
  if (chunk) stream.unshift(chunk);
  return chunk;
}

/** Reads a stream to its end. Rejects with `TooLarge`; the stream is destroyed then. */
export async function readWhole(stream: Readable, limit: number): Promise<Buffer> {
  const collector = createCollector(limit);
  for await (const piece of stream as AsyncIterable<Buffer>) collector.add(piece);
  return collector.body();
}

/** Puts the pieces of a body together as they come. Throws `TooLarge`. */
export function createCollector(limit: number) {
  let bytes: Buffer | null = null;
  let size = 0;
  return {
    add: (piece: Buffer): void => {
      const end = size + piece.length;
      if (end > limit) throw new TooLarge(limit);
      if (!bytes) bytes = piece;
      else {
        // Copied, because a body can come in a million pieces of a byte.
        if (end > bytes.length) bytes = grown(bytes.subarray(0, size), end);
        piece.copy(bytes, size);
      }
      size = end;
    },
    body: (): Buffer => bytes?.subarray(0, size) ?? Buffer.alloc(0),
  };
}

function grown(bytes: Buffer, least: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(16_384, least * 2));
  bytes.copy(larger);
  return larger;
}
