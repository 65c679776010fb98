import {
  type Read,
  type Reading,
  readWhole,
  recordOf,
  type RecordOf,
  type Table,
  unusable,
} from "./record.ts";

/**
 * Reads the response of an endpoint: `json` as records, `text` and `bytes` as streams. `nothing`, for endpoints that the
 * document marks ∅, ignores any body.
 */
export type Reader<Answer> =
  | JsonReader<Answer>
  | { readonly form: "text" | "bytes" | "nothing"; readonly read: () => Reading<Answer> };

interface JsonReader<Answer> {
  readonly form: "json";
  readonly read: (body: unknown) => Reading<Answer>;
  /** Reads a long response in steps of about a millisecond. Absent for endpoints with short responses. */
  readonly steps?: (body: unknown) => Iterator<undefined, Reading<Answer>>;
}

export type AnswerOf<Each extends Reader<unknown>> =
  ReturnType<Each["read"]> extends Reading<infer Answer> ? Answer : never;

const nothing = { answer: undefined, faults: [] };

export const Nothing: Reader<undefined> = { form: "nothing", read: () => nothing };
/** A log of any length, read as a window or streamed to the caller. */
export const Text: Reader<undefined> = { form: "text", read: () => nothing };
/** A download, streamed to the caller. */
export const Bytes: Reader<undefined> = { form: "bytes", read: () => nothing };

/** Creates the reader of a JSON response that is one record. */
export const json = <Answer>(read: Read<Answer>): Reader<Answer> => ({
  form: "json",
  read: (body) => readWhole(read, body),
});

/**
 * Creates a reader of JSON responses with a long list under a key. The table accepts any records there; they are read one
 * by one, which allows pauses.
 */
export const jsonWithList = <Keys extends Table, Key extends keyof RecordOf<Keys> & string, Item>(
  table: Keys,
  key: Key,
  readItem: Read<Item>,
): JsonReader<WithList<RecordOf<Keys>, Key, Item>> => {
  type Answer = WithList<RecordOf<Keys>, Key, Item>;
  const read = recordOf(table);
  const check = table[key];
  const mayBeNull = typeof check !== "function" || check(null);

  /** Yields regularly and returns the response. */
  function* steps(body: unknown): Generator<undefined, Reading<Answer>> {
    const { answer, faults } = readWhole(read, body);
    const list: unknown = answer[key];
    const items = Array.isArray(list) ? yield* readEach(readItem, list, faults, key) : list;
    if (items === null && !mayBeNull) throw unusable(faults.at(-1) ?? key);
    // Safe: the key holds the items, or what its check allows in place of a list.
    return { answer: (items === list ? answer : { ...answer, [key]: items }) as Answer, faults };
  }

  const readAll = (body: unknown): Reading<Answer> => {
    const all = steps(body);
    for (;;) {
      const step = all.next();
      if (step.done) return step.value;
    }
  };
  return { form: "json", read: readAll, steps };
};

/** `Whole` with a list of `Item` under a key; null or absent only where its check allows it. */
type WithList<Whole, Key extends keyof Whole, Item> = Omit<Whole, Key> & {
  readonly [Each in Key]: readonly Item[] | Extract<Whole[Each], null | undefined>;
};

/** Items read between two pauses: about a millisecond. */
const ITEMS_AT_A_TIME = 50;

function* readEach<Item>(
  read: Read<Item>,
  list: readonly unknown[],
  faults: string[],
  place: string,
): Generator<undefined, Item[] | null> {
  const items: Item[] = [];
  for (let index = 0; index < list.length; index++) {
    if (index > 0 && index % ITEMS_AT_A_TIME === 0) yield;
    const item = read(list[index], faults, place, index);
    if (item === null) return null;
    items.push(item);
  }
  return items;
}
