import { BoundedBuffer, EMPTY, type MemoryAccount } from "../../callers/bounded-buffer.ts";
import type { StreamedResponse } from "../client/transport.ts";

/** A part of a log, in bytes: from a position on, or its last lines. `isContinued`: the response stays open, as `rest` of the window. */
export type WindowRequest =
  | { readonly fromByte: number; readonly maxBytes: number; readonly isContinued?: true }
  | { readonly tailLines: number; readonly maxBytes: number };

export interface LogWindow {
  /** Invalid UTF-8 is replaced. */
  readonly text: string;
  /** Position in the log at which the window begins. */
  readonly startByte: number;
  /** Position at which to continue reading. */
  readonly endByte: number;
  readonly hasMore: boolean;
  /** Whether the log is shorter than the requested position. It was then restarted, and the window is its beginning. */
  readonly isRestarted: boolean;
  /** The open response after the window; null if it was not requested, or at the end of the log. */
  readonly rest: OpenLog | null;
}

/** The parts of a response from which a log is read. */
export type LogResponse = Pick<StreamedResponse, "stream" | "bodyHeaders">;

/**
 * Reads a window of a streamed log. Reads no further than needed, and buffers at most twice `maxBytes`. Never splits a character: an
 * incomplete character at the end belongs to the next window.
 */
export async function readWindow(
  response: LogResponse,
  request: WindowRequest,
  account: MemoryAccount | null,
): Promise<LogWindow> {
  if ("tailLines" in request) return readTail(response, request, account);
  const window = await new OpenLog(response, request).next(account);
  if (request.isContinued) return window;
  window.rest?.close();
  return { ...window, rest: null };
}

/** A UTF-8 character has at most four bytes. */
const MAX_CHARACTER_BYTES = 4;

/** A log that is read window by window from one response, no faster than its windows are requested. */
class OpenLog {
  readonly #response: LogResponse;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #maxBytes: number;
  /** Length of the log in bytes; infinite if it is unknown. */
  readonly #length: number;
  #position: number;
  /** Number of bytes before the next window that have not been received yet. */
  #toSkip: number;
  #isRestarted: boolean;
  /** Whether no more bytes are received, because the log has ended or the rest is not needed. */
  #isAtEnd: boolean;
  /** Bytes after the last window that have already been received. */
  #ahead = EMPTY;

  constructor(response: LogResponse, { fromByte, maxBytes }: { fromByte: number; maxBytes: number }) {
    this.#response = response;
    // Safe: no encoding is set, so the chunks are buffers.
    this.#chunks = (response.stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    this.#maxBytes = maxBytes;
    this.#length = Number(response.bodyHeaders["content-length"] ?? Number.POSITIVE_INFINITY);
    this.#isRestarted = fromByte > this.#length;
    this.#isAtEnd = fromByte > 0 && fromByte === this.#length;
    this.#position = this.#isRestarted ? 0 : fromByte;
    this.#toSkip = this.#isAtEnd ? 0 : this.#position;
  }

  /** Reads the next window. Rejects if the response fails. */
  async next(account: MemoryAccount | null = null): Promise<LogWindow> {
    const maxLength = this.#maxBytes + MAX_CHARACTER_BYTES;
    const isCut = await this.#skip(maxLength, account);
    const buffer = new BoundedBuffer(maxLength, account);
    for (let chunk = await this.#nextChunk(); chunk; chunk = await this.#nextChunk()) {
      const end = maxLength - buffer.length;
      buffer.add(chunk.subarray(0, end));
      this.#ahead = chunk.subarray(end);
      if (buffer.length === maxLength) break;
    }
    const bytes = buffer.bytes();
    // A first character that is longer than the window is included whole, so that reading makes progress.
    const end = wholeCharacters(bytes, this.#maxBytes) || wholeCharacters(bytes, lengthFrom(bytes[0]));
    const startByte = this.#position;
    const isRestarted = this.#isRestarted;
    this.#position += end;
    this.#isRestarted = false;
    this.#ahead = Buffer.concat([bytes.subarray(end), this.#ahead]);
    const hasMore = bytes.length === maxLength || end < wholeCharacters(bytes, bytes.length);
    const hasRest = hasMore && !isCut;
    if (!hasRest) this.close();
    return {
      text: bytes.toString("utf8", 0, end),
      startByte,
      endByte: this.#position,
      hasMore,
      isRestarted,
      rest: hasRest ? this : null,
    };
  }

  /**
   * Receives the bytes before the window. If the log ends before the window, it was restarted, and its beginning becomes the window.
   * Returns whether that window is cut, because the restarted log has more bytes than fit into it.
   */
  async #skip(maxLength: number, account: MemoryAccount | null): Promise<boolean> {
    const kept = Number.isFinite(this.#length) ? 0 : maxLength;
    const head = new BoundedBuffer(kept, account);
    let skipped = 0;
    while (this.#toSkip > 0) {
      const chunk = await this.#nextChunk();
      if (!chunk) {
        this.#isRestarted = this.#isAtEnd = true;
        this.#position = this.#toSkip = 0;
        this.#ahead = head.bytes();
        return skipped > head.length;
      }
      const length = Math.min(this.#toSkip, chunk.length);
      skipped += length;
      head.add(chunk.subarray(0, Math.min(length, kept - head.length)));
      this.#toSkip -= length;
      this.#ahead = chunk.subarray(length);
    }
    return false;
  }

  /** Ends the response, so that the service does not send the rest of the log. */
  close(): void {
    this.#response.stream.destroy();
  }

  /** The next bytes; null at the end of the log. */
  async #nextChunk(): Promise<Buffer | null> {
    const ahead = this.#ahead;
    this.#ahead = EMPTY;
    if (ahead.length > 0) return ahead;
    if (this.#isAtEnd) return null;
    const { done, value } = await this.#chunks.next();
    return done ? null : value;
  }
}

async function readTail(
  { stream }: LogResponse,
  { tailLines, maxBytes }: { tailLines: number; maxBytes: number },
  account: MemoryAccount | null,
): Promise<LogWindow> {
  const buffer = new BoundedBuffer(maxBytes + MAX_CHARACTER_BYTES, account, "last");
  for await (const chunk of stream as AsyncIterable<Buffer>) buffer.add(chunk);
  const { total } = buffer;
  const bytes = buffer.bytes();
  const end = wholeCharacters(bytes, bytes.length);
  const line = lineStart(bytes.subarray(0, end), tailLines);
  const isWhole = end - line <= maxBytes;
  const start = isWhole ? line : nextCharacter(bytes, Math.max(line, end - maxBytes));
  return {
    text: bytes.toString("utf8", start, end),
    startByte: total - bytes.length + start,
    endByte: total - bytes.length + end,
    hasMore: false,
    isRestarted: false,
    rest: null,
  };
}

/** Start of the last `lines` lines. A newline at the end of the log ends the last line and does not start another. */
function lineStart(bytes: Buffer, lines: number): number {
  let lineEnd = bytes.length - 1;
  for (let line = 0; line < lines; line++) {
    lineEnd = lineEnd > 0 ? bytes.lastIndexOf("\n", lineEnd - 1) : -1;
    if (lineEnd < 0) return 0;
  }
  return lineEnd + 1;
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** The first position at which a character starts, at `from` or later. */
function nextCharacter(bytes: Buffer, from: number): number {
  let at = from;
  while (isContinuation(bytes[at]) && at < from + MAX_CHARACTER_BYTES) at++;
  return at;
}

/** Length of the character that starts with this byte. Invalid bytes count as one character each. */
const lengthFrom = (byte = 0) => (byte < 0xc0 || byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2);

/** Number of bytes within the first `limit` that form complete characters. */
function wholeCharacters(bytes: Buffer, limit: number): number {
  const end = Math.min(limit, bytes.length);
  let start = end - 1;
  while (isContinuation(bytes[start]) && start > end - MAX_CHARACTER_BYTES) start--;
  return start >= 0 && start + lengthFrom(bytes[start]) > end ? start : end;
}
