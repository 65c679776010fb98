import { isRawJSON } from "../../rest/api/record.ts";
import type { Context } from "./context.ts";
import { forEach, type CooperativeTask } from "../../util/cooperative-task.ts";

/* Algorithms for many values that yield every few milliseconds. */

type Compare<Item> = (one: Item, other: Item) => number;

export const compareText: Compare<string> = (one, other) => (one < other ? -1 : Number(one > other));

export const byName: Compare<{ readonly name: string }> = (one, other) => compareText(one.name, other.name);

/** Number of items that are sorted, merged, compared or written between two yields. */
const COMPARISON_STRIDE = 1_000;

/** Sorts items by a merge sort that begins with runs of `COMPARISON_STRIDE` items. Equal items keep their order. */
export function* sorted<Item extends object | string>(
  items: readonly Item[],
  compare: Compare<Item>,
): CooperativeTask<readonly Item[]> {
  let parts: (readonly Item[])[] = [];
  for (let from = 0; from < items.length; from += COMPARISON_STRIDE) {
    parts.push(items.slice(from, from + COMPARISON_STRIDE).toSorted(compare));
    yield;
  }
  while (parts.length > 1) {
    const merged: (readonly Item[])[] = [];
    for (let part = 0; part < parts.length; part += 2)
      merged.push(yield* mergedOf(parts[part] ?? [], parts[part + 1] ?? [], compare));
    parts = merged;
  }
  return parts[0] ?? [];
}

function* mergedOf<Item extends object | string>(
  one: readonly Item[],
  other: readonly Item[],
  compare: Compare<Item>,
): CooperativeTask<readonly Item[]> {
  const merged: Item[] = [];
  let second = 0;
  for (const first of one) {
    for (let next = other[second]; next !== undefined && compare(next, first) < 0; next = other[second]) {
      merged.push(next);
      second++;
    }
    if (merged.push(first) % COMPARISON_STRIDE === 0) yield;
  }
  return merged.concat(other.slice(second));
}

/** Returns the first `most` items in sorted order. */
export function* firstOf<Item>(
  items: Iterable<Item>,
  most: number,
  compare: Compare<Item>,
): CooperativeTask<Item[]> {
  let first: Item[] = [];
  yield* forEach(items, (item) => {
    if (first.push(item) >= 2 * most) first = first.toSorted(compare).slice(0, most);
  });
  return first.toSorted(compare).slice(0, most);
}

/** Whether two scalars are equal. 0 equals -0, and NaN equals NaN. */
export const isSameScalar = (one: unknown, other: unknown): boolean => one === other || Object.is(one, other);

/** The keys of a JSON object or list. `Object.keys` would create a string for each index of a list. */
export const keysOf = (value: object): Iterable<PropertyKey> =>
  Array.isArray(value) ? value.keys() : Object.keys(value);

const sizeOf = (value: object): number => (Array.isArray(value) ? value : Object.keys(value)).length;

/** Whether two JSON values are equal. The order of keys does not matter. */
export function* isEqual(one: unknown, other: unknown, progress = { compared: 0 }): CooperativeTask<boolean> {
  if (isSameScalar(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other) || sizeOf(one) !== sizeOf(other))
    return false;
  for (const key of keysOf(one)) {
    if (++progress.compared % COMPARISON_STRIDE === 0) yield;
    const [mine, theirs]: unknown[] = [Reflect.get(one, key), Reflect.get(other, key)];
    if (!Object.hasOwn(other, key)) return false;
    if (!isSameScalar(mine, theirs) && !(yield* isEqual(mine, theirs, progress))) return false;
  }
  return true;
}

/** Returns a string unchanged, and any other JSON value as JSON. Fields that show the same object or list share its JSON. */
export const textOf = (value: unknown, context: Pick<Context, "memoized">): string | Promise<string> => {
  if (typeof value === "string") return value;
  return isNested(value) ? context.memoized(value, ["text"], () => jsonOf(value)) : JSON.stringify(value);
};

const isNested = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !isRawJSON?.(value);

function* jsonOf(value: object): CooperativeTask<string> {
  const isList = Array.isArray(value);
  let [json, seen] = ["", 0];
  for (const key of keysOf(value)) {
    const inner: unknown = Reflect.get(value, key);
    const written = isNested(inner) ? yield* jsonOf(inner) : JSON.stringify(inner);
    json += `${seen === 0 ? "" : ","}${isList ? "" : `${JSON.stringify(key)}:`}${written}`;
    if (++seen % COMPARISON_STRIDE === 0) yield;
  }
  yield json.length;
  return isList ? `[${json}]` : `{${json}}`;
}
