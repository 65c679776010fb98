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

/** Longer responses, in characters, are written at once: all that are ready would wait for their readers together. */
const SHORT_BODY_BYTES = 16_384;

/** Shorter responses fit into one packet: compressing them saves nothing. */
const MIN_COMPRESSED_BYTES = 1_024;

/** Writes responses to callers that may read slowly. */
export function createResponseWriter(config: Config, callers: CallerRegistry, clock: Clock) {
  const { MAX_WAITING_BYTES, READ_TIMEOUT_MS } = config;
  const waiting = countWaiting(MAX_WAITING_BYTES, callers);

  /** Writes a chunk and waits until it is drained. Closes the connection when that takes longer than `READ_TIMEOUT_MS`. */
  const write = async (response: ServerResponse, chunk: Uint8Array): Promise<void> => {
    if (isClosed(response) || response.write(chunk)) return;
    await new Promise<void>((resolve) => {
      let cancel: (() => void) | null = null;
      const watch = () => {
        cancel = clock.after(READ_TIMEOUT_MS, () => abortConnection(response));
      };
      // Without a socket the response is queued behind another one of its connection: its reader is not to blame.
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

  /** Writes a part of a body, which counts until it is read. */
  const writePart = async (
    response: ServerResponse,
    part: Uint8Array,
    count: (bytes: number) => void,
  ): Promise<void> => {
    for (let from = 0; from < part.length; from += WRITTEN_CHUNK_BYTES) {
      const chunk = part.subarray(from, from + WRITTEN_CHUNK_BYTES);
      await write(response, chunk);
      count(-chunk.length);
    }
  };

  /**
   * Sends a complete response, compressed when the caller accepts gzip. The length of a compressed response can leak
   * secrets to a page that makes the browser request its own text beside them (BREACH). That does not apply here:
   * browsers never send tokens by themselves.
   */
  const send = async (
    response: ServerResponse,
    { status, headers, body: text }: Sent<string>,
    caller: Caller,
  ): Promise<void> => {
    // Short responses are written together: after the first write the reader is awake, and the others cost half as much.
    if (text.length <= SHORT_BODY_BYTES) await new Promise<void>(afterPendingIo);
    if (isClosed(response)) return;
    // Where the connection has nothing left to write, a short response need not be counted.
    if (text.length < MIN_COMPRESSED_BYTES && response.socket?.writableLength === 0) {
      response.writeHead(status, { "content-length": Buffer.byteLength(text), ...headers });
      response.end(text);
      return;
    }
    const count = waiting.open(response, caller);
    const plain = Buffer.from(text);
    // The body counts while it is being compressed as well.
    count(plain.length);
    const isLong = plain.length >= MIN_COMPRESSED_BYTES;
    const isCompressed = isLong && acceptsGzip(response.req.headers["accept-encoding"]);
    const body = isCompressed ? await compressOnce(plain) : plain;
    count(body.length - plain.length);
    if (isClosed(response)) return;
    if (isLong) response.appendHeader("vary", "accept-encoding");
    const encoding = isCompressed ? { "content-encoding": "gzip" } : {};
    response.writeHead(status, { "content-length": body.length, ...encoding, ...headers });
    await writePart(response, body, count);
    response.end();
  };

  /** Sends a body in pieces as they come, no faster than the caller reads them. */
  const stream = async (
    response: ServerResponse,
    { status, headers, body }: Sent<AsyncIterable<Uint8Array>>,
    caller: Caller,
    onPart: (bytes: number) => void = () => {},
  ): Promise<void> => {
    // Who leaves has ended its scope, and with it the body.
    if (isClosed(response)) return;
    const count = waiting.open(response, caller);
    response.writeHead(status, headers);
    // Leaving the loop cancels the source of the body.
    for await (const part of body) {
      onPart(part.length);
      if (isClosed(response)) break;
      count(part.length);
      await writePart(response, part, count);
    }
    response.end();
  };

  return { send, stream, waitingBytes: waiting.total };
}

export type ResponseWriter = ReturnType<typeof createResponseWriter>;

interface Waiting {
  readonly response: ServerResponse;
  readonly caller: Caller;
  bytes: number;
}

/** Counts the bytes of responses that wait for slow readers, and disconnects readers when there are too many. */
function countWaiting(maxBytes: number, callers: CallerRegistry) {
  const quota = callers.quota({ total: maxBytes, perCaller: maxBytes });
  /** In the order in which they began. */
  const responses = new LinkedList<Waiting>();

  const add = (response: Waiting, bytes: number): void => {
    response.bytes += bytes;
    quota.add(response.caller, bytes);
  };

  /** Disconnects readers until the limit holds: the oldest response of the account with the most waiting bytes first. */
  const shrink = (): void => {
    while (quota.taken > maxBytes) {
      const largest = quota
        .billedCallers()
        .reduce((most, each) => (quota.of(each) > quota.of(most) ? each : most));
      const oldest = responses
        .members()
        .find(({ caller, bytes }) => caller.billedTo === largest && bytes > 0);
      if (!oldest) return;
      add(oldest, -oldest.bytes);
      abortConnection(oldest.response);
    }
  };

  return {
    total: () => quota.taken,
    /** Returns a function that adds waiting bytes of a response, until it is over. */
    open: (response: ServerResponse, caller: Caller) => {
      const link = responses.add({ response, caller, bytes: 0 });
      onceClosed(response, () => {
        add(link.member, -link.member.bytes);
        responses.remove(link);
      });
      return (bytes: number): void => {
        if (!responses.has(link)) return;
        add(link.member, bytes);
        shrink();
      };
    },
  };
}

/** Compresses in the thread pool, without blocking the event loop. */
export const compress: (bytes: Uint8Array | string) => Promise<Buffer> = promisify(gzip);

/** Compresses a response; a short one at once, as proxies do: it would take longer to reach the thread pool. */
const compressOnce = (bytes: Uint8Array): Buffer | Promise<Buffer> =>
  bytes.length <= WRITTEN_CHUNK_BYTES ? gzipSync(bytes, { level: 1 }) : compress(bytes);

/** Compresses a body as it is read, each part so that it can be read when it arrives. Breaks off when the body does. */
export async function* compressEach(body: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  // Its error also destroys the stream that is read here.
  yield* pipeline(body, createGzip({ flush: constants.Z_SYNC_FLUSH }), () => {});
}

/** Whether an `accept-encoding` header accepts gzip: only a weight of zero refuses what it names. */
export function acceptsGzip(header = ""): boolean {
  const codings = header.toLowerCase().split(",");
  const named = (coding: RegExp) => codings.find((each) => coding.test(each));
  const found = named(/^\s*gzip\b/) ?? named(/^\s*x-gzip\b/) ?? named(/^\s*\*/);
  return found !== undefined && Number(/;\s*q=([^;]*)/.exec(found)?.[1] ?? 1) > 0;
}
