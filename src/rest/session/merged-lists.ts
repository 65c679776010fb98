import { hash } from "node:crypto";
import { type ScanRequest, type Slice, type SliceRequest, readSlice } from "./pagination.ts";
import { type List, listFingerprint } from "./page-reader.ts";
import { notACursor } from "./list-position.ts";
import type { Session } from "./session.ts";

/* Merges several lists into one. The server sorts each list by some value of its rows, and the merged list has the same order. */

export interface MergedPart<At, Item> {
  readonly list: List<At, Item>;
  /** Finds the rows that match conditions by which the service cannot filter; null if there are no such conditions. */
  readonly find: ScanRequest<Item>["find"] | null;
}

interface MergeRequest<Item> extends Omit<SliceRequest, "offset"> {
  /** Maximum rows of a scan, over all lists together. */
  readonly maxRows: number;
  /** The value by which the rows are merged, smaller values first. Of equal rows, the row of the first list comes first. */
  readonly rankOf: (item: Item) => number;
}

/** A row, and the index of its list. */
export interface Merged<Item> {
  readonly item: Item;
  readonly part: number;
}

/** Prefix of the position of a list that was read to its end. Its length follows if it is known. */
const ENDED = "~";

/**
 * Reads a page of a merged list: in parallel, one page of each list that has not ended. The merged page ends early where the next row of
 * some list has not been read, because that row may come next. A cursor consists of a position in each list. Throws `InputError` for a
 * cursor of other lists.
 */
export async function readMerged<At, Item>(
  session: Session,
  parts: readonly MergedPart<At, Item>[],
  { first, maxSize, after, maxRows, rankOf }: MergeRequest<Item>,
): Promise<Slice<Merged<Item>>> {
  const marks = parts.map(({ list }) => listFingerprint(list)).join("");
  const mark = hash("sha1", marks, "base64url").slice(0, 8);
  const starts = after === null ? parts.map(() => "") : positionsIn(after, mark, parts.length);
  const scanRows = Math.max(1, Math.floor(maxRows / parts.length));
  const slices = await Promise.all(
    parts.map(({ list, find }, index) => {
      const start = starts[index] ?? "";
      if (start.startsWith(ENDED)) return endedSlice<Item>(start.slice(ENDED.length), find !== null);
      const request = { first, maxSize, after: start || null };
      return readSlice(session, list, request, find && { maxRows: scanRows, find });
    }),
  );
  const positionOf = (slice: Slice<Item>, taken: number, start: string): string => {
    const isDrained = taken === slice.items.length;
    if (isDrained && !slice.hasNext) return `${ENDED}${slice.count ?? ""}`;
    if (isDrained) return slice.endCursor() ?? start;
    return taken > 0 ? slice.cursorAt(taken - 1) : start;
  };
  const cursorOf = (taken: readonly number[]): string =>
    [...slices.map((slice, index) => positionOf(slice, taken[index] ?? 0, starts[index] ?? "")), mark].join(
      ".",
    );
  const { items, taken } = merge(slices, first ?? Number.POSITIVE_INFINITY, rankOf);
  const scans = slices.flatMap(({ scan }) => scan ?? []);
  const counts = slices.map(({ count }) => count);
  const end = taken.at(-1) ?? [];
  return {
    items,
    // Safe: `taken` has one entry before the first item and one after each item.
    cursorAt: (index) => cursorOf(taken[index + 1] as readonly number[]),
    endCursor: () => cursorOf(end),
    hasNext: slices.some(({ items: all, hasNext }, index) => hasNext || (end[index] ?? 0) < all.length),
    hasPrevious: after !== null,
    count: counts.reduce((sum, count) => (sum === null || count === null ? null : sum + count), 0),
    scan:
      scans.length === 0
        ? null
        : {
            scannedRows: scans.reduce((sum, { scannedRows }) => sum + scannedRows, 0),
            isComplete: scans.every(({ isComplete }) => isComplete),
          },
  };
}

/** Merges rows. `taken` has one entry before the first item and one after each item: how many rows of each list were taken by then. */
function merge<Item>(
  slices: readonly Slice<Item>[],
  wanted: number,
  rankOf: (item: Item) => number,
): { readonly items: Merged<Item>[]; readonly taken: readonly (readonly number[])[] } {
  const items: Merged<Item>[] = [];
  let counts = slices.map(() => 0);
  const taken = [counts];
  /** The rank of the next row of each list. It is kept because computing it parses a time. */
  const ranks: (number | undefined)[] = [];
  for (;;) {
    let next: (Merged<Item> & { readonly rank: number }) | null = null;
    for (const [part, { items: all, hasNext }] of slices.entries()) {
      const index = counts[part] ?? 0;
      if (index === all.length && hasNext) return { items, taken };
      if (index === all.length) continue;
      // Safe: the index is below the length.
      const item = all[index] as Item;
      const rank = (ranks[part] ??= rankOf(item));
      if (next === null || rank < next.rank) next = { item, part, rank };
    }
    if (next === null || items.length >= wanted) return { items, taken };
    const { item, part } = next;
    items.push({ item, part });
    ranks[part] = undefined;
    counts = counts.with(part, (counts[part] ?? 0) + 1);
    taken.push(counts);
  }
}

/** The empty slice of a list that an earlier page has read to its end. */
const endedSlice = <Item>(count: string, isScanned: boolean): Slice<Item> => ({
  items: [],
  cursorAt: () => "",
  endCursor: () => null,
  hasNext: false,
  hasPrevious: true,
  count: count === "" ? null : Number(count),
  scan: isScanned ? { scannedRows: 0, isComplete: true } : null,
});

/** Splits a cursor into the positions of the lists: an empty string at the start of a list, a cursor of the list, or `ENDED`. */
function positionsIn(cursor: string, mark: string, length: number): readonly string[] {
  const positions = cursor.split(".");
  const isKnown = positions.every((each) => !each.startsWith(ENDED) || /^~\d{0,9}$/.test(each));
  if (positions.pop() !== mark || positions.length !== length || !isKnown) throw notACursor(cursor);
  return positions;
}
