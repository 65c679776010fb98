import { StacklessError } from "../../errors.ts";
import { pipeline, Readable, type Transform } from "node:stream";
import { createUnzip } from "node:zlib";
import { BoundedBuffer, type MemoryAccount } from "../../callers/bounded-buffer.ts";

/** An unsupported response: an unknown encoding, an invalid status, a protocol upgrade. */
export class UnsupportedResponseError extends StacklessError {}

type Decoder = () => Transform;

/** `createUnzip` decodes both gzip, which a known server sends unrequested, and the zlib format that `deflate` stands for. */
const DECODERS: ReadonlyMap<string, Decoder | null> = new Map([
  ["", null],
  ["identity", null],
  ["gzip", createUnzip],
  ["x-gzip", createUnzip],
  ["deflate", createUnzip],
]);

/** The decoder for a `content-encoding`: null for an unencoded body, undefined for an unknown encoding. */
export const decoderOf = (header: string | null): Decoder | null | undefined =>
  DECODERS.get((header ?? "").trim().toLowerCase());

/** Decodes a whole body. Rejects with `ResponseTooLargeError` as soon as the output exceeds `limit` bytes. */
export async function decodeBody(
  body: Buffer,
  encoding: string,
  limit: number,
  account: MemoryAccount,
): Promise<Buffer> {
  const decoder = decoderOf(encoding);
  if (decoder === undefined) throw new UnsupportedResponseError();
  // A response without a body may still have an encoding header.
  if (!decoder || body.length === 0) return body;
  return readAll(decodeStream(Readable.from([body]), decoder), limit, account);
}

/** Decodes a stream. The returned stream ends, fails and is destroyed together with the source. */
export const decodeStream = (source: Readable, decoder: Decoder | null): Readable =>
  decoder ? pipeline(source, decoder(), () => {}) : source;

/** Reads a whole stream. Rejects with `ResponseTooLargeError` and destroys the stream if it exceeds `limit` bytes. */
export async function readAll(stream: Readable, limit: number, account: MemoryAccount): Promise<Buffer> {
  const collector = new BoundedBuffer(limit, account);
  for await (const chunk of stream as AsyncIterable<Buffer>) collector.add(chunk);
  return collector.bytes();
}
