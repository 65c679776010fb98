import type { Readable } from "node:stream";

/** Either what follows a position, or the end of the log. Sizes are bytes of the log. */
export type WindowRequest =
  | { readonly fromByte: number; readonly maxBytes: number }
  | { readonly tailLines: number; readonly maxBytes: number };

export interface LogWindow {
  /** Invalid UTF-8 is replaced. */
  readonly text: string;
  /** Number of bytes of the log in front of the text. */
  readonly startByte: number;
  /** Where to read on. */
  readonly endByte: number;
  readonly hasMore: boolean;
  readonly contentType: string | null;
}

/**
 * Cuts a window out of a log that streams in. Reads only as far as needed and leaves the rest unread;
 * holds at most twice `maxBytes` at any time, and nothing of what lies in front of the window. A character is never
 * cut: one that has not wholly arrived is left for the next window.
 */
export async function readWindow(
  stream: Readable,
  contentType: string | null,
  wanted: WindowRequest,
): Promise<LogWindow> {
  const window = "tailLines" in wanted ? await readTail(stream, wanted) : await readOn(stream, wanted);
  return { ...window, contentType };
}

type Cut = Omit<LogWindow, "contentType">;

/** A character of UTF-8 has at most four bytes. */
const LONGEST_CHARACTER = 4;

async function readOn(
  stream: Readable,
  { fromByte, maxBytes }: { fromByte: number; maxBytes: number },
): Promise<Cut> {
  const most = maxBytes + LONGEST_CHARACTER;
  const held = createTail(most);
  let toSkip = fromByte;
  // Leaving the loop destroys the stream: what is behind the window is not fetched.
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const skipped = Math.min(toSkip, chunk.length);
    toSkip -= skipped;
    held.add(chunk.subarray(skipped, skipped + most - held.length()));
    if (held.length() === most) break;
  }
  const bytes = held.bytes();
  // A window narrower than its first character still gets on by that character.
  const end = wholeCharacters(bytes, maxBytes) || (characterEnd(bytes, 0) ?? 0);
  // A log that ends before the place it is to be read from has become shorter: its end is the place to read on.
  const start = fromByte - toSkip;
  return {
    text: bytes.toString("utf8", 0, end),
    startByte: start,
    endByte: start + end,
    hasMore: bytes.length === most || end < wholeCharacters(bytes, bytes.length),
  };
}

async function readTail(
  stream: Readable,
  { tailLines, maxBytes }: { tailLines: number; maxBytes: number },
): Promise<Cut> {
  const held = createTail(maxBytes + LONGEST_CHARACTER);
  let total = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    held.add(chunk);
    total += chunk.length;
  }
  const bytes = held.bytes();
  const end = wholeCharacters(bytes, bytes.length);
  const line = lineStart(bytes.subarray(0, end), tailLines);
  const isWhole = end - line <= maxBytes && (line > 0 || bytes.length === total);
  const start = isWhole ? line : nextCharacter(bytes, Math.max(line, end - maxBytes));
  return {
    text: bytes.toString("utf8", start, end),
    startByte: total - bytes.length + start,
    endByte: total - bytes.length + end,
    hasMore: false,
  };
}

/**
 * The last bytes of what is added: at least `most` of them, at most twice as many. They are copied: a chunk may be a
 * small view of a large buffer, and a million chunks of a byte each cost a hundred times what is in them.
 */
function createTail(most: number) {
  let memory = Buffer.alloc(0);
  let length = 0;

  /** Grows in doubles, up to twice what is needed; then what is too old is forgotten, once for as many bytes. */
  const makeRoom = (more: number) => {
    const needed = length + more;
    const kept = memory.subarray(needed > 2 * most ? needed - most : 0, length);
    if (memory.length < 2 * most) {
      memory = Buffer.allocUnsafe(Math.min(2 * most, Math.max(2 * memory.length, needed)));
    }
    kept.copy(memory);
    length = kept.length;
  };

  return {
    add: (chunk: Buffer) => {
      const added = chunk.subarray(Math.max(0, chunk.length - most));
      if (length + added.length > memory.length) makeRoom(added.length);
      length += added.copy(memory, length);
    },
    length: () => length,
    bytes: () => memory.subarray(0, length),
  };
}

/** Where the last so many lines begin. A line end at the very end ends the last line and begins none. */
function lineStart(bytes: Buffer, lines: number): number {
  let lineEnd = bytes.length - 1;
  for (let line = 0; line < lines; line++) {
    lineEnd = lineEnd > 0 ? bytes.lastIndexOf("\n", lineEnd - 1) : -1;
    if (lineEnd < 0) return 0;
  }
  return lineEnd + 1;
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** The first place from here on where a character begins. */
function nextCharacter(bytes: Buffer, from: number): number {
  let at = from;
  while (isContinuation(bytes[at]) && at < from + LONGEST_CHARACTER) at++;
  return at;
}

/** How many bytes the character has that begins with this one. Bytes that are no UTF-8 count as characters. */
const lengthFrom = (byte: number) =>
  byte < 0xc0 || byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;

/** Where the character ends that begins here; null when it has not wholly arrived. A broken one ends where it breaks. */
function characterEnd(bytes: Buffer, start: number): number | null {
  if (start >= bytes.length) return null;
  const whole = start + lengthFrom(bytes[start] ?? 0);
  let end = start + 1;
  while (end < whole && isContinuation(bytes[end])) end++;
  return end < whole && end >= bytes.length ? null : end;
}

/** How many of the first `limit` bytes are whole characters. */
function wholeCharacters(bytes: Buffer, limit: number): number {
  const end = Math.min(limit, bytes.length);
  for (let start = end - 1; start >= 0 && start >= end - LONGEST_CHARACTER; start--) {
    if (isContinuation(bytes[start])) continue;
    const behind = characterEnd(bytes, start);
    return behind === null || behind > end ? start : end;
  }
  return end;
}
