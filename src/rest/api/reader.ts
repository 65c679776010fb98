import {
  integer,
  isObject,
  isRawJSON,
  joinPath,
  rawJSON,
  type RecordDecoder,
  type Reading,
  decode,
  recordOf,
  type RecordOf,
  requiredRecords,
  type Table,
  text,
  unusable,
  valueAt,
} from "./record.ts";

/** Reads a response: `json` as records, `text` and `bytes` as streams. `nothing` ignores it, if the document marks the endpoint with ∅. */
export type Reader<Answer> = JsonReader<Answer> | { readonly form: "text" | "bytes" | "nothing" };

interface JsonReader<out Answer> {
  readonly form: "json";
  /** Reads a response in steps of about a millisecond. */
  readonly parseTask: (body: unknown) => Iterator<undefined, Reading<Answer>>;
}

export type AnswerOf<Each> = Each extends JsonReader<infer Answer> ? Answer : never;

export const Nothing: Reader<undefined> = { form: "nothing" };
/** A log of any length, read as a window or streamed to the caller. */
export const Text: Reader<undefined> = { form: "text" };
/** A download, streamed to the caller. */
export const Bytes: Reader<undefined> = { form: "bytes" };

export const json = <Answer>(read: RecordDecoder<Answer>): Reader<Answer> => ({
  form: "json",
  parseTask: (body) => {
    const value = decode(read, body);
    return { next: () => ({ done: true, value }) };
  },
});

/** Creates a reader of JSON with a long list under a key, whose records are read one by one, so that other tasks can run in between. */
export const jsonWithList = <Keys extends Table, Key extends keyof RecordOf<Keys> & string, Item>(
  table: Keys,
  key: Key,
  readItem: RecordDecoder<Item>,
): JsonReader<WithList<RecordOf<Keys>, Key, Item>> => {
  type Answer = WithList<RecordOf<Keys>, Key, Item>;
  const read = recordOf(table);
  const check = table[key];
  const mayBeNull = typeof check !== "function" || check(null);
  return {
    form: "json",
    *parseTask(body) {
      const { answer, mismatches } = decode(read, body);
      const list: unknown = answer[key];
      const items = Array.isArray(list) ? yield* readEach(readItem, list, mismatches, key) : list;
      if (items === null && !mayBeNull) throw unusable(mismatches.at(-1) ?? key);
      // Safe: the value of the key is the list of items, or a value that its check allows instead.
      return { answer: (items === list ? answer : { ...answer, [key]: items }) as Answer, mismatches };
    },
  };
};

/** `Whole` with a list of `Item` under a key. The list is null or absent only if the check of the key allows that. */
type WithList<Whole, Key extends keyof Whole, Item> = Omit<Whole, Key> & {
  readonly [Each in Key]: readonly Item[] | Extract<Whole[Each], null | undefined>;
};

/** Time for which items are read without a pause, in milliseconds. `RECORD_STRIDE`: number of items between two checks of the clock. */
const PAUSE_AFTER_MS = 1;
const RECORD_STRIDE = 4;

function* readEach<Item>(
  read: RecordDecoder<Item>,
  list: readonly unknown[],
  mismatches: string[],
  path: string,
): Generator<undefined, Item[] | null> {
  const items: Item[] = [];
  let begun = performance.now();
  for (let index = 0; index < list.length; index++) {
    if (index % RECORD_STRIDE === 0 && performance.now() - begun > PAUSE_AFTER_MS) {
      yield;
      begun = performance.now();
    }
    const item = read(list[index], mismatches, path, index);
    if (item === null) return null;
    items.push(item);
  }
  return items;
}

export interface Page<Item> {
  readonly count?: number | null | undefined;
  /** The link to the next page. Null or empty on the last page. */
  readonly next?: string | null | undefined;
  readonly results: readonly Item[];
}

export const pageOf = <Item>(item: RecordDecoder<Item>) =>
  jsonWithList({ count: integer, next: text, results: requiredRecords }, "results", item);

/** A bookmark. It still exists after its item was deleted. */
export interface Bookmark<Item> {
  /** The id of the bookmarked item; 0 if the item was deleted. */
  readonly id: unknown;
  readonly content_object: Item | null;
}

export const bookmarksOf = <Item>(read: RecordDecoder<Item>) =>
  pageOf<Bookmark<Item>>((bookmark, mismatches, parent = "", key = "") => {
    const received = isObject(bookmark) ? bookmark["content_object"] : undefined;
    if (received == null) return { id: 0, content_object: null };
    const item = read(received, mismatches, joinPath(parent, key), "content_object");
    return item === null ? null : { id: valueAt(item, "id"), content_object: item };
  });

const LONG_INTEGER_TEXT = /^-?\d{16,}$/;

/** Creates an integer: a number, or raw JSON if a number cannot represent it (before Node.js 21 a string with the digits). */
export const integerOf = (digits: string): unknown =>
  Number.isSafeInteger(Number(digits)) ? Number(digits) : (rawJSON?.(digits) ?? digits);

/** The number nearest to an integer that a number cannot represent; null for any other value. */
export function roundedOf(value: unknown): number | null {
  const digits = isRawJSON?.(value) ? value.rawJSON : rawJSON ? null : value;
  return typeof digits === "string" && LONG_INTEGER_TEXT.test(digits) ? Number(digits) : null;
}
