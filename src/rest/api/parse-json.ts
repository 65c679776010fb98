/**
 * Maximum nesting of JSON from callers and from the service, whose documented responses have six levels. Deep values overflow
 * the stack of recursive code.
 */
export const MAX_NESTING = 200;

/** Whether a value is nested more than `levels` deep. */
export const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

/** JSON that would take too much time or memory. The message goes on from "The service's answer". */
export class TooComplex extends Error {}

/**
 * The work of parsing, by measurement: a number counts 1 (some 0.05 microseconds), and so does a key. The bound is some 100
 * milliseconds. 90,000 metric records, which some servers send as one page of 10 MB, are 1.8 million.
 */
const WORK = { value: 1, key: 1, container: 3, text: 5, escapedText: 7 };
const MAX_WORK = 2_000_000;

const TOO_MANY_VALUES = "has too many values";

/**
 * Maximum shapes of objects in one text. V8 makes a hidden class for every key that follows others as it does nowhere else,
 * in 1 to 3 microseconds. Records of a kind have the same keys: a page of 500 experiments has 100 shapes.
 */
const MAX_SHAPES = 30_000;

/**
 * Parses JSON in UTF-8. `NaN` and `Infinity`, which Python's encoder writes, read as null. `onHeap` receives the approximate
 * heap size of the values, in bytes, before they are parsed, and may throw. Throws `SyntaxError` or `TooComplex`.
 */
export function parseJson(bytes: Buffer, onHeap: (bytes: number) => void = () => {}): unknown {
  // Decoding a long text takes about as long as parsing it: it is decoded once.
  const small = bytes.length <= SMALL_LENGTH ? bytes.toString("utf8") : null;
  onHeap((small === null ? null : heapBytesOfSmall(small)) ?? heapBytesOf(bytes));
  const received = small ?? bytes;
  const isExtended = received.includes("NaN") || received.includes("Infinity");
  const text = isExtended ? withNulls(bytes).toString("utf8") : received.toString("utf8");
  return JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
}

/** Measured heap sizes. An empty list takes twenty times its text. */
const BYTES_PER_CONTAINER = 50;
const BYTES_PER_ITEM = 12;
const BYTES_PER_SHAPE = 130;

/** Up to this length and number of brackets no bound can be exceeded, and the heap size is small. */
const SMALL_LENGTH = 16_384;
const SMALL_BRACKETS = MAX_NESTING;

/** The largest heap size of a small text; null for one with many brackets, which is scanned. */
function heapBytesOfSmall(text: string): number | null {
  const brackets = countUpTo(SMALL_BRACKETS, text, "{") + countUpTo(SMALL_BRACKETS, text, "[");
  // Every second character may be a comma.
  return brackets > SMALL_BRACKETS
    ? null
    : brackets * BYTES_PER_CONTAINER + (text.length * BYTES_PER_ITEM) / 2;
}

/** Counts a character, up to one more than `max`. */
function countUpTo(max: number, text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1 && count <= max; at = text.indexOf(character, at + 1))
    count++;
  return count;
}

const codeOf = (character: string) => character.charCodeAt(0);
const [QUOTE, BACKSLASH, COMMA, COLON] = ['"', "\\", ",", ":"].map(codeOf);
const [OPEN_LIST, OPEN_OBJECT, CLOSE_LIST, CLOSE_OBJECT] = ["[", "{", "]", "}"].map(codeOf);

/** Bits of the hash that tells shapes apart: of `MAX_SHAPES` a tenth is missed. */
const SHAPE_BITS = 17;

/** Own for each process, so that no text can be written whose shapes all have one hash. */
const SEED = Math.trunc(Math.random() * 2 ** 32);

/** The hash of the object's keys so far, for each level of nesting. */
const shapes = new Int32Array(MAX_NESTING + 1);
/** A bit for each hash of a shape that the text has. */
const seen = new Int32Array(2 ** SHAPE_BITS / 32);

/** Estimates the heap size of the values of a JSON text without strings. Throws `TooComplex` above a bound. */
function heapBytesOf(bytes: Buffer): number {
  seen.fill(0);
  let shapeCount = 0;
  let work = 0;
  /** That of the last string. */
  let textWork = 0;
  let values = 0;
  let containers = 0;
  let depth = 0;
  /** The hash of the last string, which is a key when a colon follows. */
  let hash = 0;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at];
    if (code === QUOTE) {
      hash = SEED;
      textWork = WORK.text;
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) {
        if (bytes[at] === BACKSLASH) {
          textWork = WORK.escapedText;
          at++;
        }
        hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
      }
      work += textWork;
    } else if (code === COMMA) {
      values++;
      work += WORK.value;
    } else if (code === COLON) {
      work += WORK.key - textWork;
      const shape = Math.imul((shapes[depth] ?? 0) ^ hash, 0x85ebca6b);
      shapes[depth] = shape;
      const slot = shape >>> (32 - SHAPE_BITS);
      const bits = seen[slot >>> 5] ?? 0;
      const bit = 1 << (slot & 31);
      if ((bits & bit) === 0) {
        seen[slot >>> 5] = bits | bit;
        if (++shapeCount > MAX_SHAPES) throw new TooComplex(`has more than ${MAX_SHAPES} different keys`);
      }
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      values++;
      containers++;
      work += WORK.container;
      if (++depth > MAX_NESTING) throw new TooComplex(`is nested more than ${MAX_NESTING} levels deep`);
      shapes[depth] = 0;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
    if (work > MAX_WORK) throw new TooComplex(TOO_MANY_VALUES);
  }
  return (
    containers * BYTES_PER_CONTAINER + (values - containers) * BYTES_PER_ITEM + shapeCount * BYTES_PER_SHAPE
  );
}

/** Each is found, written and parsed as null: twice the work of a number. */
const MAX_WORDS = MAX_WORK / 2;

const [MINUS, N, I] = ["-", "N", "I"].map(codeOf);
const [NULL, NAN, INFINITY] = ["null", "NaN", "Infinity"].map((word) => Buffer.from(word)) as [
  Buffer,
  Buffer,
  Buffer,
];

/** Writes null in place of `NaN`, `Infinity` and `-Infinity` outside of strings. Throws `TooComplex` above a bound. */
function withNulls(bytes: Buffer): Buffer {
  // NaN grows the most.
  const written = Buffer.allocUnsafe(Math.ceil((bytes.length * NULL.length) / NAN.length));
  let length = 0;
  let from = 0;
  let words = 0;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at];
    if (code === QUOTE) at = endOfString(bytes, at);
    else if (code === N || code === I) {
      const word = code === N ? NAN : INFINITY;
      if (!isAt(bytes, at, word)) continue;
      if (++words > MAX_WORDS) throw new TooComplex(TOO_MANY_VALUES);
      length = copy(bytes, from, bytes[at - 1] === MINUS ? at - 1 : at, written, length);
      length = copy(NULL, 0, NULL.length, written, length);
      from = at + word.length;
      at = from - 1;
    }
  }
  return written.subarray(0, copy(bytes, from, bytes.length, written, length));
}

/** The index of the quote that closes a string; at least the length of the text when none does. */
function endOfString(bytes: Buffer, open: number): number {
  let at = open + 1;
  for (; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return at;
}

function isAt(bytes: Buffer, at: number, word: Buffer): boolean {
  for (let index = 0; index < word.length; index++) if (bytes[at + index] !== word[index]) return false;
  return true;
}

/** Copies bytes and returns the new length. Few bytes are copied one by one, because a native call takes longer. */
function copy(bytes: Buffer, from: number, to: number, into: Buffer, length: number): number {
  if (to - from > 64) return length + bytes.copy(into, length, from, to);
  for (let at = from; at < to; at++) into[length + at - from] = bytes[at] ?? 0;
  return length + to - from;
}
