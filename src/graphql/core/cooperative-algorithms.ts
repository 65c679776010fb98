import { isRawJSON } from "../../rest/api/record.ts";
import type { Context } from "./context.ts";
import { forEach, type Steps } from "./steps.ts";

/* Sorting and comparison of many values, in steps of at most a few milliseconds. */

type Compare<Item> = (one: Item, other: Item) => number;

export const compareText: Compare<string> = (one, other) => (one < other ? -1 : Number(one > other));

export const byName: Compare<{ readonly name: string }> = (one, other) => compareText(one.name, other.name);

/** Number of items that are sorted, merged or compared between two pauses. */
const COMPARISON_STRIDE = 1_000;

/** Sorts items: first in parts, which are then merged in pairs. */
export function* sorted<Item extends object | string>(
  items: readonly Item[],
  compare: Compare<Item>,
): Steps<readonly Item[]> {
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
): Steps<readonly Item[]> {
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

/** The first items in sorted order, at most `most` of them. */
export function* firstOf<Item>(items: Iterable<Item>, most: number, compare: Compare<Item>): Steps<Item[]> {
  let first: Item[] = [];
  yield* forEach(items, (item) => {
    if (first.push(item) >= 2 * most) first = first.toSorted(compare).slice(0, most);
  });
  return first.toSorted(compare).slice(0, most);
}

/** Two lists of values that are compared pair by pair. */
interface Pairs {
  readonly ones: readonly unknown[];
  readonly others: readonly unknown[];
  next: number;
}

/** The pairs of values of two lists of equal length, or of two objects with the same keys; otherwise null. */
function pairsOf(one: unknown, other: unknown): Pairs | null {
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return null;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return null;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length ? { ones: one, others: other, next: 0 } : null;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length || !keys.every((key) => Object.hasOwn(other, key)))
    return null;
  const valuesOf = (values: object) => keys.map((key) => Reflect.get(values, key));
  return { ones: valuesOf(one), others: valuesOf(other), next: 0 };
}

/** Whether two scalars are equal. 0 equals -0, and NaN equals NaN. */
export const isSameScalar = (one: unknown, other: unknown): boolean => one === other || Object.is(one, other);

/** Whether two JSON values are equal. The order of keys does not matter. */
export function* isEqual(one: unknown, other: unknown): Steps<boolean> {
  const open: Pairs[] = [{ ones: [one], others: [other], next: 0 }];
  for (let [last, compared] = [open.at(-1), 0]; last; last = open.at(-1)) {
    if (++compared % COMPARISON_STRIDE === 0) yield;
    const at = last.next++;
    if (at === last.ones.length) open.pop();
    else if (!isSameScalar(last.ones[at], last.others[at])) {
      const pairs = pairsOf(last.ones[at], last.others[at]);
      if (!pairs) return false;
      open.push(pairs);
    }
  }
  return true;
}

/**
 * Formats a JSON value as a string: a string unchanged, any other value as JSON. A nested value is formatted once for all fields that show
 * it.
 */
export const textOf = (value: unknown, context: Pick<Context, "memoized">): string | Promise<string> => {
  if (typeof value === "string") return value;
  return isNested(value) ? context.memoized(value, ["text"], () => jsonOf(value)) : JSON.stringify(value);
};

const isNested = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !isRawJSON?.(value);

function* jsonOf(value: object): Steps<string> {
  const isList = Array.isArray(value);
  let [json, seen] = ["", 0];
  // `for … in` would create a string of each index of a list first.
  for (const key of isList ? value.keys() : Object.keys(value)) {
    const inner: unknown = Reflect.get(value, key);
    const written = isNested(inner) ? yield* jsonOf(inner) : JSON.stringify(inner);
    json += `${seen === 0 ? "" : ","}${isList ? "" : `${JSON.stringify(key)}:`}${written}`;
    if (++seen % COMPARISON_STRIDE === 0) yield;
  }
  yield json.length;
  return isList ? `[${json}]` : `{${json}}`;
}
