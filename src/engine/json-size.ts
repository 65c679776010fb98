import { isSliceOver, nextTurn } from "./turns.ts";

/*
 * How many bytes values take as JSON, without writing them. Own code: packages that measure either write the whole
 * JSON, which is what is to be prevented, or measure memory.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const FIRST_OF_TWO_BYTES = 0x80;
const FIRST_OF_THREE_BYTES = 0x800;
/** `\b \t \n \f \r`; other control characters are written as `\u0007`. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([8, 9, 10, 12, 13]);

const LONG_TEXT = 10_000;

/** Bytes of a text as JSON. Half a surrogate pair counts as three; alone it takes six. */
function sizeOfText(text: string): number {
  // Counted by Node, without escapes: of a long text looking at each character would hold the process.
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

/** Bytes of what is no text and no object. Most take fewer. */
const sizeOfOther = (value: unknown): number =>
  typeof value !== "number" || Number.isSafeInteger(value) ? 8 : 24;

/** Sizes of objects that were measured, or are being measured: one value may stand in many places of a result. */
const sizes = new WeakMap<object, number | Promise<number>>();

/** Bytes up to which measuring again costs less than remembering. */
const SMALL = 4_096;

/** Values looked at before the clock is. */
const STRIDE = 1_000;

/** Bytes of any JSON value. A promise where measuring takes longer than the time slice. Stops beyond `most`. */
export function sizeOfJson(value: unknown, most: number): number | Promise<number> {
  if (typeof value === "string") return sizeOfText(value);
  if (typeof value !== "object" || value === null) return sizeOfOther(value);
  const known = sizes.get(value);
  if (known !== undefined) return known;
  const measuring = openMeasuring(value, most);
  while (!isSliceOver()) {
    if (!measuring.advance()) continue;
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
  /** Goes on for a while; gives whether it is over. */
  readonly advance: () => boolean;
  readonly size: () => number;
}

async function finish(measuring: Measuring): Promise<number> {
  do {
    if (isSliceOver()) await nextTurn();
  } while (!measuring.advance());
  return measuring.size();
}

/** Walks without calling itself: a value may be nested deeper than the stack is. */
function openMeasuring(value: object, most: number): Measuring {
  const open: Iterator<unknown>[] = [partsOf(value)];
  let size = 2;
  const advance = (): boolean => {
    for (let steps = 0; steps < STRIDE; steps++) {
      const parts = open.at(-1);
      if (!parts || size > most) return true;
      const { done, value: part } = parts.next();
      if (done) {
        open.pop();
      } else if (typeof part === "object" && part !== null) {
        size += 3;
        open.push(partsOf(part));
      } else {
        size += 1 + (typeof part === "string" ? sizeOfText(part) : sizeOfOther(part));
      }
    }
    return false;
  };
  return { advance, size: () => size };
}

/** Items of a list; names and values of an object. */
const partsOf = (value: object): Iterator<unknown> =>
  Array.isArray(value) ? value.values() : entriesOf(value as Readonly<Record<string, unknown>>);

function* entriesOf(value: Readonly<Record<string, unknown>>): Generator<unknown, void> {
  for (const key in value) {
    yield key;
    yield value[key];
  }
}
