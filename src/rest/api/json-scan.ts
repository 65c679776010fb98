import { isAscii } from "node:buffer";

/** Maximum nesting of JSON, because deep values overflow the stack of recursive code. Documented responses have six levels. */
export const MAX_NESTING = 200;

/** The result of one pass over JSON before it is parsed. It is meaningless for invalid JSON. */
export interface JsonScan {
  /** Upper bound for the heap size of the parsed value, in bytes. */
  readonly heapBytes: number;
  readonly isTooDeep: boolean;
  /** Start and end of each part that `JSON.parse` would reject or change: `NaN`, `Infinity`, long integers, too deeply nested values. */
  readonly replacements: readonly number[];
  /** The JSON as a string, so that it need not be decoded again; null if it contains anything but ASCII. */
  readonly ascii: string | null;
}

/*
 * The sizes below are bytes of heap in V8 without pointer compression. They are the same in Node.js 20 to 26.
 * `test/memory/json-heap.test.ts` compares the estimate with the real heap.
 */

/** The size of a slot. `OBJECT`: the size of an object. */
const SLOT = 8;
const OBJECT = 24;
/** The size of the four slots of an object without named properties. */
const UNNAMED_HEAP_BYTES = 32;
const LIST = 48;
/** The size of a string without its characters, but with their padding. */
const STRING = 23;
/** The size of a number except a small integer, and of a small integer if another object has a fraction under the same name. */
const NUMBER_HEAP_BYTES = 16;
/** The size of an integer that is stored as raw JSON, without its digits. */
const DIGITS = 100;
/** The size of a name that is an index, such as `34`. V8 creates a list of at most 36 slots for it, or a hash table. */
const INDEX_HEAP_BYTES = 304;
/** The size of a hidden class per name, without the name itself. Objects with the same names in the same order share a class. */
const CLASS = 128;
/** An object with more names than `above` is a hash table, which takes `object` bytes, and `perName` bytes for each name. */
const HASHED = { above: 127, perName: 64, object: 128 };

const [QUOTE, PLUS, COMMA, MINUS, DOT, ZERO, NINE, COLON] = [0x22, 0x2b, 0x2c, 0x2d, 0x2e, 0x30, 0x39, 0x3a];
const [OPEN_LIST, BACKSLASH, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5c, 0x5d, 0x7b, 0x7d];
const [SPACE, SMALL_A, SMALL_E, SMALL_U, SMALL_Z] = [0x20, 0x61, 0x65, 0x75, 0x7a];

/** Matches an integer that may be too large for a number. */
const LONG_INTEGER = /^-?[1-9]\d{15,}$/;
/** Minimum number of its digits. `LARGE`: minimum number of digits of an integer that takes more than its slot in a list. */
const [LONG, LARGE] = [16, 10];
/** Maximum digits of an index. */
const LONGEST_INDEX = 10;

const NOT_A_NUMBER = /^(?:NaN|Infinity)$/;

/** One entry for each enclosing object or list: number of names (in objects the complement, which is negative), their bytes and hash. */
const counts = new Int32Array(MAX_NESTING + 1);
const sizes = new Int32Array(MAX_NESTING + 1);
const hashes = new Int32Array(MAX_NESTING + 1);

/**
 * The known hidden classes, by the hash of their names in order. `scans`: the number of the last scan that found each. Each scan counts its
 * classes again, because the garbage collector may have removed the classes of earlier values. The hash is seeded at random, so that
 * callers cannot choose names with equal hashes.
 */
const classes = new Int32Array(2 ** 16);
const scans = new Int32Array(2 ** 16);
const [FACTOR, START] = [Math.floor(Math.random() * 2 ** 30) * 4 + 1, Math.floor(Math.random() * 2 ** 30)];
let scan = 0;

/**
 * Number of hidden classes that were found since V8 last removed unused ones, which it does in a full garbage collection. V8 derives at
 * most 1,536 classes from one class. Further objects become hash tables, even if their names are equal.
 */
let classCount = 0;
const MAX_CLASSES = 1_000;
let sinceCollection = new WeakRef({});
let resetAt = 0;
/** How long responses and results can keep hidden classes alive, approximately, in milliseconds. */
const KEPT_MS = 60_000;

function beginScan(): void {
  scan = (scan + 1) | 0;
  if (classCount < MAX_CLASSES || sinceCollection.deref()) return;
  const now = performance.now();
  if (now < resetAt + KEPT_MS) return;
  resetAt = now;
  classCount = 0;
  classes.fill(0);
  sinceCollection = new WeakRef({});
}

/** Scans JSON in UTF-8, in less than half of the time of parsing it. One long function for speed, because every response is scanned. */
export function scanJson(json: Buffer): JsonScan {
  // Searching a string is ten times as fast as a loop.
  const text = json.toString("latin1");
  const ascii = isAscii(json) ? text : null;
  const isNarrow = ascii !== null && !text.includes("\\u");
  const replacements: number[] = [];
  beginScan();
  let heapBytes = 0;
  let depth = 0;
  let deepStart = -1;
  let isObject = false;
  let expectsName = false;
  let names = 0;
  let nameBytes = 0;
  let hash = 0;
  let at = 0;
  while (at < json.length) {
    const start = at;
    const byte = json[at++] ?? 0;
    if (byte === QUOTE && expectsName) {
      let letter = json[at] ?? QUOTE;
      for (; letter !== QUOTE; letter = json[++at] ?? QUOTE) {
        hash = Math.imul(hash ^ letter, FACTOR);
        if (letter !== BACKSLASH) continue;
        at++;
        // An escape may hide an index: "3\u0034" is 34.
        if (json[at] === SMALL_U) heapBytes += INDEX_HEAP_BYTES;
      }
      const length = at - start - 1;
      if (isDigit(json[start + 1]) && isIndex(json, start + 1, at)) heapBytes += INDEX_HEAP_BYTES;
      else {
        names++;
        nameBytes += CLASS + STRING + (isNarrow ? length : 2 * length);
        hash ^= hash >>> 15;
      }
      expectsName = false;
      at++;
    } else if (byte === QUOTE) {
      let end = text.indexOf('"', at);
      while (json[end - 1] === BACKSLASH && isEscaped(json, end)) end = text.indexOf('"', end + 1);
      if (end < 0) end = json.length;
      // Strings of one character are preallocated.
      const length = end - at;
      heapBytes += length > 1 ? SLOT + STRING + (isNarrow ? length : sizeOf(json, at, end)) : SLOT;
      at = end + 1;
    } else if (byte === COMMA) expectsName = isObject;
    else if (byte === COLON || byte <= SPACE) continue;
    else if (byte <= NINE) {
      let isInteger = true;
      for (; at < json.length; at++) {
        const sign = json[at] ?? 0;
        if (sign >= ZERO && sign <= NINE) continue;
        if (sign !== DOT && (sign | SPACE) !== SMALL_E && sign !== PLUS && sign !== MINUS) break;
        isInteger = false;
      }
      const length = at - start;
      heapBytes +=
        isObject || !isInteger || byte === MINUS || length >= LARGE ? SLOT + NUMBER_HEAP_BYTES : SLOT;
      if (isInteger && length >= LONG && isLost(text.slice(start, at))) {
        heapBytes += DIGITS + length;
        if (depth <= MAX_NESTING) replacements.push(start, at);
      }
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (depth <= MAX_NESTING) {
        counts[depth] = isObject ? ~names : names;
        sizes[depth] = nameBytes;
        hashes[depth] = hash;
      }
      if (depth++ === MAX_NESTING) deepStart = start;
      isObject = byte === OPEN_OBJECT;
      expectsName = isObject;
      heapBytes += SLOT + (isObject ? OBJECT : LIST);
      names = 0;
      nameBytes = 0;
      hash = START;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (isObject) heapBytes += heapOfNames(names, nameBytes, hash);
      if (depth > 0) depth--;
      if (depth > MAX_NESTING) continue;
      if (depth === MAX_NESTING) replacements.push(deepStart, at);
      names = counts[depth] ?? 0;
      isObject = names < 0;
      if (isObject) names = ~names;
      nameBytes = sizes[depth] ?? 0;
      hash = hashes[depth] ?? 0;
      expectsName = false;
    } else {
      while (isLetter(json[at])) at++;
      heapBytes += SLOT;
      if (byte < SMALL_A && depth <= MAX_NESTING && NOT_A_NUMBER.test(text.slice(start, at)))
        replacements.push(json[start - 1] === MINUS ? start - 1 : start, at);
    }
  }
  return { heapBytes, isTooDeep: deepStart >= 0, replacements, ascii };
}

/** Whether a number cannot represent an integer. */
const isLost = (digits: string): boolean =>
  LONG_INTEGER.test(digits) && !Number.isSafeInteger(Number(digits));

/** The heap size of the names of an object, without its slots. */
function heapOfNames(names: number, nameBytes: number, hash: number): number {
  if (names === 0) return UNNAMED_HEAP_BYTES;
  const hashed = names > HASHED.above ? names * HASHED.perName + HASHED.object : 0;
  // A hash has two possible slots, so two hashes that collide can both be stored.
  const slot = hash >>> 16;
  const at = classes[slot] === hash ? slot : slot ^ 1;
  if (classes[at] === hash) {
    if (scans[at] === scan) return hashed;
    scans[at] = scan;
  } else if (classCount < MAX_CLASSES) {
    classes[slot ^ 1] = classes[slot] ?? 0;
    scans[slot ^ 1] = scans[slot] ?? 0;
    classes[slot] = hash;
    scans[slot] = scan;
    classCount++;
  }
  return hashed + nameBytes;
}

function isIndex(json: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (!isDigit(json[at])) return false;
  return end - start <= LONGEST_INDEX;
}

function isEscaped(json: Buffer, quote: number): boolean {
  let at = quote;
  while (json[at - 1] === BACKSLASH) at--;
  return (quote - at) % 2 === 1;
}

export const isDigit = (byte = 0): boolean => byte >= ZERO && byte <= NINE;
const isLetter = (byte = 0): boolean => (byte | SPACE) >= SMALL_A && (byte | SPACE) <= SMALL_Z;

/** Heap size of the characters of a string: one byte each, or two if any has a code above 255 or is written as a `\u` escape. */
function sizeOf(json: Buffer, start: number, end: number): number {
  let characters = 0;
  let isWide = false;
  for (let at = start; at < end; at++) {
    const byte = json[at] ?? 0;
    if (byte < 0x80 || byte >= 0xc0) characters += byte < 0xf0 ? 1 : 2;
    if (byte > 0xc3 || (byte === BACKSLASH && json[at + 1] === SMALL_U)) isWide = true;
  }
  return isWide ? 2 * characters : characters;
}
