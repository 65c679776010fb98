import { isSliceOver, nextTurn } from "./turns.ts";

/*
 * Measures the size of values as JSON without serializing them. Own code: packages that measure either serialize the
 * value, which is what must be avoided, or measure memory.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const FIRST_OF_TWO_BYTES = 0x80;
const FIRST_OF_THREE_BYTES = 0x800;
/** `\b \t \n \f \r`; other control characters are written as `\u0007`. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([8, 9, 10, 12, 13]);

/** Longer texts, in characters, are counted natively and without escapes: a loop over 10 MB takes 100 ms. */
const LONG_TEXT = 10_000;

/** Size of a string as JSON. Half a surrogate pair counts as three bytes, although a lone one takes six. */
function sizeOfText(text: string): number {
  if (text.length > LONG_TEXT) return Buffer.byteLength(text) + 2;
  let size = 2;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code >= FIRST_OF_THREE_BYTES) size += 3;
    else if (code >= FIRST_OF_TWO_BYTES) size += 2;
    else if (code >= FIRST_PRINTABLE) size += code === QUOTE || code === BACKSLASH ? 2 : 1;
    else size += SHORT_ESCAPES.has(code) ? 2 : 6;
  }
  return size;
}

/** Upper bound for a number, a boolean or null, in bytes. */
const sizeOfOther = (value: unknown): number =>
  typeof value !== "number" || Number.isSafeInteger(value) ? 8 : 24;

/** Size of a text, number or boolean as JSON. */
export const sizeOfLeaf = (value: unknown): number =>
  typeof value === "string" ? sizeOfText(value) : sizeOfOther(value);

/** Sizes of objects that are or were measured: one value may occur many times in a result. */
const sizes = new WeakMap<object, number | Promise<number>>();

/** Sizes up to this, in bytes, are not remembered: measuring again is cheaper. */
const SMALL = 4_096;

/** Values measured between two checks of the clock. */
const STRIDE = 1_000;

/** Size of any JSON value in bytes. A promise when measuring outlasts the time slice. Stops above `max`. */
export function sizeOfJson(value: unknown, max: number): number | Promise<number> {
  if (typeof value === "string") return sizeOfText(value);
  if (typeof value !== "object" || value === null) return sizeOfOther(value);
  const known = sizes.get(value);
  if (known !== undefined) return known;
  const measuring = openMeasuring(value, max);
  while (!isSliceOver()) {
    if (!measuring.step()) continue;
    const size = measuring.size();
    return size > SMALL ? remember(value, size) : size;
  }
  const size = finish(measuring).then((bytes) => remember(value, bytes));
  sizes.set(value, size);
  return size;
}

function remember(value: object, size: number): number {
  sizes.set(value, size);
  return size;
}

interface Measuring {
  /** Measures up to `STRIDE` values. Returns whether all are measured. */
  readonly step: () => boolean;
  readonly size: () => number;
}

async function finish(measuring: Measuring): Promise<number> {
  do {
    if (isSliceOver()) await nextTurn();
  } while (!measuring.step());
  return measuring.size();
}

/** A list or object that is being measured: its keys, or null for a list, and the index of the next part. */
interface Frame {
  readonly value: object;
  readonly keys: readonly string[] | null;
  readonly length: number;
  index: number;
}

function frameOf(value: object): Frame {
  if (Array.isArray(value)) return { value, keys: null, length: value.length, index: 0 };
  const keys = Object.keys(value);
  return { value, keys, length: keys.length, index: 0 };
}

/** Walks a value iteratively, because it may be nested deeper than the call stack. */
function openMeasuring(value: object, max: number): Measuring {
  const open: Frame[] = [frameOf(value)];
  let size = 2;
  const step = (): boolean => {
    for (let steps = 0; steps < STRIDE; steps++) {
      const frame = open.at(-1);
      if (!frame || size > max) return true;
      if (frame.index === frame.length) {
        open.pop();
        continue;
      }
      const key = frame.keys?.[frame.index];
      if (key !== undefined) size += 1 + sizeOfText(key);
      const part = (frame.value as Readonly<Record<string | number, unknown>>)[key ?? frame.index];
      frame.index++;
      if (typeof part === "object" && part !== null) {
        size += 3;
        open.push(frameOf(part));
      } else {
        size += 1 + sizeOfLeaf(part);
      }
    }
    return false;
  };
  return { step, size: () => size };
}
