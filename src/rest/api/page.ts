import * as z from "zod";
import { type Envelope, inSteps, type JsonReader, jsonWithList, type Reading } from "./reader.ts";
import { isObject } from "./as-is.ts";
import { integer, records, text } from "./values.ts";

/** One page of a list. */
export interface Page<Item> {
  readonly count?: number | null | undefined;
  /** The link to the next page, or its cursor. Null or empty on the last page. */
  readonly next?: string | null | undefined;
  readonly results: readonly Item[];
}

const DOCUMENTED: Envelope = { items: "results", count: "count", next: "next", hasLinks: true };

const cursor = z.union([z.string(), z.int().transform(String)]).nullish();

/** Creates the reader of a page of items. The default envelope is that of the service's document. */
export function pageOf<Item extends z.ZodType>(
  item: Item,
  envelope: Envelope = DOCUMENTED,
): JsonReader<Page<z.output<Item>>> {
  const { items, count, next, hasLinks } = envelope;
  const listKey = items ?? "items";
  const schema = z.object({
    ...(count === null ? {} : { [count]: integer }),
    ...(next === null ? {} : { [next]: hasLinks ? text : cursor }),
    [listKey]: records,
  });
  const reader = jsonWithList(schema, listKey, item);
  const keys = Object.keys(schema.shape);
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
  // Safe: the schema has these keys with these types.
  const toPage = (answer: Readonly<Record<string, unknown>>) =>
    ({
      count: count === null ? null : answer[count],
      next: next === null ? null : answer[next],
      results: answer[listKey],
    }) as Page<z.output<Item>>;
  function* steps(body: unknown): Generator<undefined, Reading<Page<z.output<Item>>>> {
    const { answer, faults } = yield* { [Symbol.iterator]: () => reader.steps(open(body)) };
    return { answer: toPage(answer), faults };
  }
  return { ...inSteps(steps), inEnvelope: (other) => pageOf(item, other) };
}

/** Creates the reader of a page of bookmarks, each of which holds its item. */
export const bookmarksOf = <Item extends z.ZodType>(item: Item) => pageOf(z.object({ content_object: item }));

const valueAt = (body: unknown, place: string): unknown =>
  place.split(".").reduce((value: unknown, key) => (isObject(value) ? value[key] : undefined), body);
