import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { promisify } from "node:util";
import { constants, createGzip, gzip, gzipSync } from "node:zlib";
import type { Caller, CallerRegistry } from "../callers/callers.ts";
import { afterPendingIo } from "../engine/scheduler.ts";
import type { Clock } from "../util/clock.ts";
import type { Config } from "../config.ts";
import { LinkedList } from "../util/linked-list.ts";
import { abortConnection, isClosed, onceClosed } from "./connections.ts";

interface Sent<Body> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** Responses are written in chunks, so that the read timeout applies to each chunk. */
const WRITTEN_CHUNK_BYTES = 65_536;

/**
 * Maximum length of a short response, in characters. Short responses are written together after the pending I/O. Long ones are written
 * immediately, because they would otherwise all be buffered at the same time.
 */
const SHORT_BODY_BYTES = 16_384;

/** Responses below this size are not compressed: they fit into one packet anyway. */
const MIN_COMPRESSED_BYTES = 1_024;

/** Writes responses to callers that may read slowly. */
export function createResponseWriter(config: Config, callers: CallerRegistry, clock: Clock) {
  const { MAX_WAITING_BYTES, READ_TIMEOUT_MS } = config;
  const sendBuffers = createSendBufferBudget(MAX_WAITING_BYTES, callers);

  /** Writes a chunk and waits until it is drained. Closes the connection when that takes longer than `READ_TIMEOUT_MS`. */
  const write = async (response: ServerResponse, chunk: Uint8Array): Promise<void> => {
    if (isClosed(response) || response.write(chunk)) return;
    await new Promise<void>((resolve) => {
      let cancel: (() => void) | null = null;
      const watch = () => {
        cancel = clock.after(READ_TIMEOUT_MS, () => abortConnection(response));
      };
      // Without a socket the response is queued behind another response of its connection, so its reader is not slow.
      if (response.socket) watch();
      else response.once("socket", watch);
      const onDrained = () => {
        cancel?.();
        response.off("socket", watch).off("drain", onDrained).off("close", onDrained);
        resolve();
      };
      response.once("drain", onDrained).once("close", onDrained);
    });
  };

  /** Returns a function that adds to the buffered bytes of a response. They are counted until the response is closed. */
  const openResponseAccount = (response: ServerResponse, caller: Caller): CountBuffered => {
    const { count, close } = sendBuffers.openAccount(caller, () => abortConnection(response));
    onceClosed(response, close);
    return count;
  };

  /** Writes bytes of a body. Each chunk counts as buffered until it is written. */
  const writeBytes = async (response: ServerResponse, bytes: Uint8Array, count: CountBuffered) => {
    for (let from = 0; from < bytes.length; from += WRITTEN_CHUNK_BYTES) {
      const chunk = bytes.subarray(from, from + WRITTEN_CHUNK_BYTES);
      await write(response, chunk);
      count(-chunk.length);
    }
  };

  /**
   * Sends a complete response, compressed when the caller accepts gzip. The BREACH attack, in which a page makes the browser send requests
   * and learns secrets from the length of compressed responses, is not possible here, because browsers never add tokens by themselves.
   * Calls `onEncoded` once, when the whole memory of the response is counted as buffered.
   */
  const send = async (response: ServerResponse, sent: Sent<string>, caller: Caller, onEncoded = () => {}) => {
    const { status, headers, body: text } = sent;
    if (text.length > SHORT_BODY_BYTES) return sendLong(response, sent, caller, onEncoded);
    onEncoded();
    // Short responses are written together, because the first write wakes up the reading process and the following writes cost half as
    // much.
    await new Promise<void>(afterPendingIo);
    if (isClosed(response)) return;
    // A short response is not counted as buffered if the connection has nothing else to write.
    if (text.length < MIN_COMPRESSED_BYTES && response.socket?.writableLength === 0) {
      response.writeHead(status, { "content-length": Buffer.byteLength(text), ...headers });
      response.end(text);
      return;
    }
    await sendLong(response, sent, caller, () => {});
  };

  /** Sends a response in chunks, and counts its bytes as buffered. The body is compressed first if the caller accepts gzip. */
  const sendLong = async (
    response: ServerResponse,
    sent: { -readonly [Key in keyof Sent<string>]: Sent<string>[Key] },
    caller: Caller,
    onEncoded: () => void,
  ): Promise<void> => {
    if (isClosed(response)) return onEncoded();
    const count = openResponseAccount(response, caller);
    const plain = Buffer.from(sent.body);
    // Releases the string, which would otherwise stay in memory while its bytes are compressed.
    sent.body = "";
    // The uncompressed body is counted as well, while it is being compressed.
    count(plain.length);
    // Counting the body may have disconnected this reader.
    if (isClosed(response)) return onEncoded();
    const isLong = plain.length >= MIN_COMPRESSED_BYTES;
    const isCompressed = isLong && acceptsGzip(response.req.headers["accept-encoding"]);
    const body = isCompressed ? await compressOnce(plain) : plain;
    count(body.length - plain.length);
    onEncoded();
    if (isClosed(response)) return;
    if (isLong) response.appendHeader("vary", "accept-encoding");
    const encoding = isCompressed ? { "content-encoding": "gzip" } : {};
    response.writeHead(sent.status, { "content-length": body.length, ...encoding, ...sent.headers });
    await writeBytes(response, body, count);
    response.end();
  };

  /** Sends the chunks of a body as they arrive, no faster than the caller reads them. */
  const stream = async (
    response: ServerResponse,
    { status, headers, body }: Sent<AsyncIterable<Uint8Array>>,
    caller: Caller,
    onChunk: (bytes: number) => void = () => {},
  ): Promise<void> => {
    // The disconnect has ended the scope, and the scope has cancelled the body.
    if (isClosed(response)) return;
    const count = openResponseAccount(response, caller);
    response.writeHead(status, headers);
    const chunks = body[Symbol.asyncIterator]();
    /**
     * Writes the next chunk. Resolves with false at the end. Not a loop, because `for await` would keep the last chunk in memory while it
     * waits for the next.
     */
    const writeNext = async (): Promise<boolean> => {
      const { done, value: chunk } = await chunks.next();
      if (done) return false;
      onChunk(chunk.length);
      if (isClosed(response)) return false;
      count(chunk.length);
      await writeBytes(response, chunk, count);
      return true;
    };
    try {
      while (await writeNext());
    } finally {
      // Cancels the source of the body.
      await chunks.return?.();
    }
    // A response that is ended after its client has left would look complete to `writableFinished`.
    if (!isClosed(response)) response.end();
  };

  return { send, stream, openResponseAccount, ...sendBuffers };
}

export type ResponseWriter = ReturnType<typeof createResponseWriter>;

/** Adds bytes to the buffered bytes of a reader; a negative number subtracts them. */
export type CountBuffered = (bytes: number) => void;

interface BufferedReader {
  readonly caller: Caller;
  readonly abort: () => void;
  bytes: number;
}

/** Counts the bytes of responses and messages that are buffered for slow readers, and disconnects readers when there are too many. */
function createSendBufferBudget(maxBytes: number, callers: CallerRegistry) {
  const quota = callers.quota({ total: maxBytes, perCaller: maxBytes });
  /** The readers, in the order in which their responses began. */
  const readers = new LinkedList<BufferedReader>();

  const add = (reader: BufferedReader, bytes: number): void => {
    reader.bytes += bytes;
    quota.add(reader.caller, bytes);
  };

  /** Disconnects readers until the limit is met: first the oldest response of the caller with the most buffered bytes. */
  const evictSlowReaders = (): void => {
    while (quota.taken > maxBytes) {
      const largest = quota
        .billedCallers()
        .reduce((most, each) => (quota.of(each) > quota.of(most) ? each : most));
      const oldest = readers.members().find(({ caller, bytes }) => caller.billedTo === largest && bytes > 0);
      if (!oldest) return;
      add(oldest, -oldest.bytes);
      oldest.abort();
    }
  };

  return {
    waitingBytes: () => quota.taken,
    /**
     * Starts counting the buffered bytes of a reader. The returned `count` adds bytes, or subtracts if negative, until `close` is called.
     * `abort` must disconnect the reader.
     */
    openAccount: (caller: Caller, abort: () => void) => {
      const link = readers.add({ caller, abort, bytes: 0 });
      const count: CountBuffered = (bytes) => {
        if (!readers.has(link)) return;
        add(link.member, bytes);
        evictSlowReaders();
      };
      const close = (): void => {
        if (!readers.has(link)) return;
        add(link.member, -link.member.bytes);
        readers.remove(link);
      };
      return { count, close };
    },
  };
}

/** Compresses in the thread pool, without blocking the event loop. */
export const compress: (bytes: Uint8Array | string) => Promise<Buffer> = promisify(gzip);

/** Compresses a response. A short one is compressed synchronously, as proxies do, because the thread pool would take longer. */
const compressOnce = (bytes: Uint8Array): Buffer | Promise<Buffer> =>
  bytes.length <= WRITTEN_CHUNK_BYTES ? gzipSync(bytes, { level: 1 }) : compress(bytes);

/** Compresses a body chunk by chunk, and flushes after each, so that the reader can decode every chunk. Fails when the body fails. */
export async function* compressEach(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // An error of the body also destroys the stream that is read here.
  yield* pipeline(body, createGzip({ flush: constants.Z_SYNC_FLUSH }), () => {});
}

/** Whether an `accept-encoding` header accepts gzip. A coding is accepted unless its weight is zero. */
export function acceptsGzip(header = ""): boolean {
  const codings = header.toLowerCase().split(",");
  const named = (coding: RegExp) => codings.find((each) => coding.test(each));
  const found = named(/^\s*gzip\b/) ?? named(/^\s*x-gzip\b/) ?? named(/^\s*\*/);
  return found !== undefined && Number(/;\s*q=([^;]*)/.exec(found)?.[1] ?? 1) > 0;
}
