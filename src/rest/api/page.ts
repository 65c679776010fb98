import { type Envelope, inSteps, type JsonReader, jsonWithList } from "./reader.ts";
import {
  keysOf,
  placeOf,
  type Read,
  type Reading,
  type Table,
  integer,
  isObject,
  requiredRecords,
  text,
  textOrInteger,
} from "./record.ts";

/** One page of a list. */
export interface Page<Item> {
  readonly count?: number | null | undefined;
  /** The link to the next page, or its cursor. Null or empty on the last page. */
  readonly next?: string | null | undefined;
  readonly results: readonly Item[];
}

const DOCUMENTED: Envelope = { items: "results", count: "count", next: "next", hasLinks: true };

/** Creates the reader of a page of items. The default envelope is that of the service's document. */
export function pageOf<Item>(item: Read<Item>, envelope: Envelope = DOCUMENTED): JsonReader<Page<Item>> {
  const { items, count, next, hasLinks } = envelope;
  const listKey = items ?? "items";
  const table: Table = {
    ...(count === null ? {} : { [count]: integer }),
    ...(next === null ? {} : { [next]: hasLinks ? text : textOrInteger }),
    [listKey]: requiredRecords,
  };
  const reader = jsonWithList(table, listKey, item);
  const keys = keysOf(table);
  const isFlat = items !== null && !keys.some((key) => key.includes("."));
  const open = (body: unknown): unknown => {
    if (items === null) return { [listKey]: body };
    if (isFlat || !isObject(body)) return body;
    return Object.fromEntries(
      keys.flatMap((key) => {
        const value = valueAt(body, key);
        return value === undefined ? [] : [[key, value]];
      }),
    );
  };
  // Safe: the table has these keys with these types.
  const toPage = (answer: Readonly<Record<string, unknown>>) =>
    ({
      count: count === null ? null : answer[count],
      next: next === null ? null : cursorOf(answer[next]),
      results: answer[listKey],
    }) as Page<Item>;
  function* steps(body: unknown): Generator<undefined, Reading<Page<Item>>> {
    const { answer, faults } = yield* { [Symbol.iterator]: () => reader.steps(open(body)) };
    return { answer: toPage(answer), faults };
  }
  return { ...inSteps(steps), inEnvelope: (other) => pageOf(item, other) };
}

const cursorOf = (next: unknown): unknown => (typeof next === "number" ? `${next}` : next);

/** A bookmark, which outlives its item. */
export interface Bookmark<Item> {
  readonly content_object: Item | null;
}

/** Creates the reader of a page of bookmarks, each of which holds its item. */
export const bookmarksOf = <Item>(read: Read<Item>) =>
  pageOf<Bookmark<Item>>((bookmark, faults, parent = "", key = "") => {
    const received = isObject(bookmark) ? bookmark["content_object"] : undefined;
    if (received == null) return { content_object: null };
    const item = read(received, faults, placeOf(parent, key), "content_object");
    return item === null ? null : { content_object: item };
  });

const valueAt = (body: unknown, place: string): unknown =>
  place.split(".").reduce((value: unknown, key) => (isObject(value) ? value[key] : undefined), body);
