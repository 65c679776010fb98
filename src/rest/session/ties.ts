import { hash } from "node:crypto";
import { valueAt } from "../api/record.ts";

/*
 * A tie is a sequence of rows that are equal in all keys by which the server sorts a list. A database may return the rows of a tie in a
 * different order for each request, so pages that cut a tie would repeat some rows and lose others.
 */

/**
 * The keys of rows by which a list is sorted: `["updated_at", "created_at"]`. A dot leads into an inner object. Without keys, all rows are
 * one tie, because the server may return them in any order.
 */
export type SortKeys = readonly string[];

export const NO_ORDER: SortKeys = [];

/** The tie at the end of the rows that earlier pages have shown. More of its rows may follow. */
export interface ShownTie {
  /** A hash of the values of the keys, which distinguishes ties. */
  readonly values: string;
  /** The ids of the rows that earlier pages have shown. */
  readonly ids: readonly number[];
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other ||
  // A long integer is received as an object (raw JSON).
  (typeof one === "object" && typeof other === "object" && JSON.stringify(one) === JSON.stringify(other));

/** Whether two rows have all keys, with equal values. */
export const areTied = (one: unknown, other: unknown, keys: SortKeys): boolean =>
  one !== undefined &&
  keys.every((key) => {
    const value = valueAt(one, key);
    return value !== undefined && isSame(value, valueAt(other, key));
  });

/** A short hash of the values of a row's sort keys. Different values may have the same hash. */
export const valuesOf = (row: unknown, keys: SortKeys): string =>
  hash("sha1", JSON.stringify(keys.map((key) => [valueAt(row, key)])), "base64url").slice(0, 6);

export const idOf = (row: unknown): number => Number(valueAt(row, "id") ?? Number.NaN);

/** Compares rows by their ids. Rows without numbers as ids are equal. */
export const compareIds = (one: { readonly id: number }, other: { readonly id: number }): number =>
  one.id - other.id || 0;

/** The ties of a page. They are computed once, because many fields of an operation may read the same page. */
class Ties {
  readonly keys: SortKeys;
  /** For each row the index of the first row of its tie. */
  readonly firsts: readonly number[];
  readonly #rows: readonly unknown[];
  /** Hashes of the values of ties, by the indexes of their first rows. */
  readonly #values = new Map<number, string>();
  #sorted: readonly unknown[] | null = null;
  /** The tie at the end of the page; null until it is needed. */
  #end: { readonly tie: ShownTie | undefined } | null = null;

  constructor(rows: readonly unknown[], keys: SortKeys) {
    let first = 0;
    this.keys = keys;
    this.#rows = rows;
    this.firsts = rows.map((row, index) => (areTied(row, rows[index - 1], keys) ? first : (first = index)));
  }

  /** The rows of a tie from its first row on this page up to the row at index `last`; undefined if a row lacks a key or its id. */
  endingWith(last: number): ShownTie | undefined {
    if (last < this.#rows.length - 1) return this.#tieAt(last);
    return (this.#end ??= { tie: this.#tieAt(last) }).tie;
  }

  /** The rows, with each tie sorted by ids. The same array if there is no tie. */
  sorted(): readonly unknown[] {
    return (this.#sorted ??= this.firsts.every((first, index) => first === index)
      ? this.#rows
      : this.#rows
          .map((row, index) => ({ row, tie: this.firsts[index] ?? 0, id: idOf(row) }))
          .toSorted((one, other) => one.tie - other.tie || compareIds(one, other))
          .map(({ row }) => row));
  }

  #tieAt(last: number): ShownTie | undefined {
    const row = this.#rows[last];
    if (!areTied(row, row, this.keys)) return undefined;
    const first = this.firsts[last] ?? last;
    const ids = this.#rows.slice(first, last + 1).map(idOf);
    if (!ids.every(Number.isSafeInteger)) return undefined;
    const values = this.#values.get(first) ?? valuesOf(this.#rows[first], this.keys);
    this.#values.set(first, values);
    return { values, ids };
  }
}

const knownTies = new WeakMap<readonly unknown[], Ties>();

function tiesOf(rows: readonly unknown[], keys: SortKeys): Ties {
  const known = knownTies.get(rows);
  if (known && (known.keys === keys || `${known.keys}` === `${keys}`)) return known;
  const ties = new Ties(rows, keys);
  knownTies.set(rows, ties);
  return ties;
}

/** Returns a function that finds the rows of a tie up to index `last`: undefined if a row lacks a key or its id. */
export function tiesIn(rows: readonly unknown[], keys: SortKeys): (last: number) => ShownTie | undefined {
  return (last) => tiesOf(rows, keys).endingWith(last);
}

/** The index of the first row of the tie at the end of a page; the number of rows if the last row lacks a key. */
export function startOfLastTie(rows: readonly unknown[], keys: SortKeys): number {
  const last = rows.at(-1);
  return areTied(last, last, keys) ? (tiesOf(rows, keys).firsts.at(-1) ?? 0) : rows.length;
}

/** Sorts the rows of each tie by their ids. Returns the same rows if there is no tie. */
export function sortTies<Item>(rows: readonly Item[], keys: SortKeys): readonly Item[] {
  // Safe: the sorted rows are the rows that were given.
  return tiesOf(rows, keys).sorted() as readonly Item[];
}

/**
 * Divides rows that were read again from the position where a tie began: `tied` has the rows of the tie, `fresh` the tied rows that were
 * not shown, `behind` the rows after the tie. `from` is the index at which the tie begins now, which is above 0 if the list has grown. If
 * the tie is gone, `from` is the end of the shown rows.
 */
export function withoutShown<Item>(rows: readonly Item[], { values, ids }: ShownTie, keys: SortKeys) {
  const isOfTie = (row: Item) => valuesOf(row, keys) === values;
  const found = rows.findIndex(isOfTie);
  const from = found < 0 ? ids.length : found;
  const end = Math.max(from, rows.findLastIndex(isOfTie) + 1);
  const shown = new Map<number, number>();
  for (const id of ids) shown.set(id, (shown.get(id) ?? 0) + 1);
  const tied = rows.slice(from, end);
  const fresh = tied.filter((row) => {
    const id = idOf(row);
    const count = shown.get(id) ?? 0;
    // Bookmarks of deleted records share one id.
    shown.set(id, count - 1);
    return count <= 0;
  });
  return { from, tied, fresh, behind: rows.slice(end) };
}
