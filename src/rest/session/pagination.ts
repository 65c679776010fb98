import { GatewayError, isTooLarge } from "../../errors.ts";
import {
  formatCursor,
  parseCursor,
  type ListPosition,
  notACursor,
  positionAt,
  serialize,
  START,
} from "./list-position.ts";
import { type List, loopError, listFingerprint, offsetIn, readStep, type PageRead } from "./page-reader.ts";
import type { Paging } from "../api/profile.ts";
import type { Session } from "./session.ts";
import { startOfLastTie } from "./ties.ts";

export interface Slice<Item> {
  readonly items: readonly Item[];
  /** The cursor of an item. It points to the position after the item. */
  readonly cursorAt: (index: number) => string;
  /** The cursor at which the next page starts, even if no items were found; null at the end of the list. */
  readonly endCursor: () => string | null;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** Length of the whole list, from the service's count or from a complete scan; null if it is unknown. */
  readonly count: number | null;
  /** Null without a scan. */
  readonly scan: Scan | null;
}

/** The progress of a scan, which compares the rows of a list with conditions by which the service cannot filter. */
export interface Scan {
  readonly scannedRows: number;
  /** Whether the scan reached the end of the list. */
  readonly isComplete: boolean;
}

export interface SliceRequest {
  /** Number of items. Null for the items of the first upstream page, which takes exactly one request. A scan then finds `maxSize` items. */
  readonly first: number | null;
  /** Maximum number of items if `first` is null, and the largest page size that a cursor can request. */
  readonly maxSize: number;
  /** A cursor of an earlier slice; null for the start of the list. */
  readonly after: string | null;
  /** Number of items to skip; null unless pages are numbered. Needs offset pagination, and excludes a cursor and a scan. */
  readonly offset?: number | null;
}

/** Finds the rows that match conditions by which the service cannot filter. */
export interface ScanRequest<Item> {
  /** Number of rows after which the scan ends. */
  readonly maxRows: number;
  /** Resolves with the indexes of the matching rows. */
  readonly find: (rows: readonly Item[]) => Promise<readonly number[]>;
}

const MAX_PAGES = 100;

/** The factor by which the page size is reduced when a page is too large, and the maximum total factor. */
const SMALLER = 4;
const SMALLEST = SMALLER ** 4;

/**
 * Reads the pages of a list until it has `first` items. If `first` is null, reads only the first page, up to `maxSize` items. A scan
 * selects the matching rows of each page, and also ends after `maxRows` rows. Throws `InputError` for a cursor of another list.
 */
export async function readSlice<At, Item>(
  session: Session,
  list: List<At, Item>,
  { first, maxSize, after, offset = null }: SliceRequest,
  scanning: ScanRequest<Item> | null = null,
): Promise<Slice<Item>> {
  const { paging } = session.server.profile;
  const start =
    after === null
      ? { ...positionAt(offset ?? 0, paging), isNumbered: offset !== null }
      : parseCursor(after, listFingerprint(list), paging, maxSize);
  const iterator = new PageIterator(list, start, maxSize);
  // Computed on first use, because many callers request no cursor.
  let mark: string | null = null;
  const cursorOf = (position: ListPosition) => formatCursor(position, (mark ??= listFingerprint(list)));
  const wanted = first ?? maxSize;
  // Without `first` one page is enough, unless all its items are before the cursor.
  const enough = scanning ? wanted : (first ?? 1);
  const { maxRows, find } = scanning ?? { maxRows: Number.POSITIVE_INFINITY, find: null };
  // At `MAX_PAGES` a scan ends, but any other read fails.
  const most = find ? MAX_PAGES : Number.POSITIVE_INFINITY;
  let items: readonly Item[] = [];
  /** The pages, each with the index of its first item and its matching rows. */
  const pages: { from: number; step: PageRead<Item>; found: readonly number[] | null }[] = [];
  let [scannedRows, matches] = [0, 0];
  do {
    const missing = first === null ? Number.POSITIVE_INFINITY : first - items.length;
    const step = await iterator.next(session, find ? Math.min(maxSize, maxRows - scannedRows) : missing);
    const { rest } = step;
    const found = find && (await find(rest));
    pages.push({ from: items.length, step, found });
    // Safe: `found` contains indexes of these rows.
    const matching = found ? found.map((index) => rest[index] as Item) : rest;
    const room = wanted - items.length;
    const added = matching.length <= room ? matching : matching.slice(0, room);
    // The results of equal fields share the page's own array. A copy for each field would use most of the memory of its result.
    items = items.length === 0 ? added : [...items, ...added];
    scannedRows += rest.length;
    matches += matching.length;
  } while (items.length < enough && scannedRows < maxRows && pages.length < most && !iterator.isDone());
  const cursorAt = (index: number): string => {
    const page = pages.findLast(({ from }) => from <= index);
    if (!page) throw new RangeError("expected the index of an item");
    const at = index - page.from;
    return cursorOf(page.step.positionAfter(page.found?.[at] ?? at));
  };
  const isComplete = iterator.isDone();
  const next = matches === items.length ? pages.at(-1)?.step.next : null;
  const total = pages[0]?.step.page.count ?? null;
  return {
    items,
    cursorAt,
    endCursor: () => (next ? cursorOf(next) : items.length > 0 ? cursorAt(items.length - 1) : null),
    hasNext: !isComplete || matches > items.length,
    // A cursor points after an item, so there is always a previous item. With an offset there is none if the list is empty.
    hasPrevious: after !== null || (offset !== null && offset > 0 && total !== 0),
    count: find ? (isComplete && after === null ? matches : null) : total,
    scan: find && { scannedRows, isComplete },
  };
}

/**
 * Prepares a page of a list that the caller reads completely and sorts. Returns `pageOf`, which selects the page from the sorted rows, and
 * `sortedAt`, the time for which earlier pages were sorted (null without a cursor). Throws `InputError` for a cursor of another list.
 */
export function sorting<At>(
  list: List<At, unknown>,
  { first, maxSize, after, offset = null }: SliceRequest,
  paging: Paging,
) {
  const mark = listFingerprint(list);
  const position = after === null ? null : parseCursor(after, mark, paging, maxSize);
  if (after !== null && position?.sortedAt === undefined) throw notACursor(after);
  const from = position?.skip ?? offset ?? 0;
  const pageOf = <Item>(rows: readonly Item[], scannedRows: number, sortedAt: number): Slice<Item> => {
    const items = rows.slice(from, from + (first ?? maxSize));
    const cursorAt = (index: number): string =>
      formatCursor({ query: {}, skip: from + index + 1, sortedAt }, mark);
    return {
      items,
      cursorAt,
      endCursor: () => (items.length > 0 ? cursorAt(items.length - 1) : null),
      hasNext: from + items.length < rows.length,
      hasPrevious: from > 0 && rows.length > 0,
      count: rows.length,
      scan: { scannedRows, isComplete: true },
    };
  };
  return { sortedAt: position?.sortedAt ?? null, pageOf };
}

/** Number of rows at the end of a list that are read to find its last tie. */
const END_ROWS = 100;

/**
 * Finds the cursor of the end of a list from its count. Takes one request, or two if the list is longer than a page. Returns null if the
 * server has no counts or no offsets, so that the end can be found only by reading all pages.
 */
export async function endOf<At, Item>(session: Session, list: List<At, Item>): Promise<string | null> {
  const { paging } = session.server.profile;
  if (paging.by !== "offset") return null;
  const start = await readStep(session, list, START, END_ROWS);
  const { count } = start.page;
  if (count == null) return null;
  const end = start.next
    ? await readStep(session, list, positionAt(Math.max(0, count - END_ROWS), paging), END_ROWS)
    : start;
  const position = end.positionAfter(end.rest.length - 1);
  // If the server's pages are shorter than requested, or the tie is longer than `END_ROWS`, only the count is known.
  const isShort = end.next !== null || (end !== start && position.shown?.ids.length === END_ROWS);
  return formatCursor(isShort ? positionAt(count, paging) : position, listFingerprint(list));
}

interface LastRequest {
  readonly last: number;
  readonly maxSize: number;
  /** The cursor of the item before which the slice ends; null for the end of the list. */
  readonly before: string | null;
}

/** Number of rows that one request reads to find the end of a list. It is below `END_ROWS`, because a block has one row more. */
const LAST_ROWS = END_ROWS - 1;

/**
 * Reads the last items of a list, or the last items before a cursor, in the order of the list. On a server with offsets, the items before a
 * cursor take one request, and the end of a list takes one, or two if it has more than `LAST_ROWS` rows. On any other server, the list is
 * read from its start. Throws `InputError` for a cursor of another list.
 */
export async function readLast<At, Item>(
  session: Session,
  list: List<At, Item>,
  { last, maxSize, before }: LastRequest,
): Promise<Slice<Item>> {
  const { paging } = session.server.profile;
  const mark = listFingerprint(list);
  const cursor = before === null ? null : parseCursor(before, mark, paging, maxSize, "before");
  const wanted = cursor ? last + 1 : Math.max(last, LAST_ROWS);
  const start = await startOfLast();
  const iterator = new PageIterator(list, { ...positionAt(start, paging), isNumbered: true }, maxSize);
  const pages: { readonly from: number; readonly read: PageRead<Item> }[] = [];
  let count: number | null = null;
  let length = 0;
  let end = -1;
  do {
    const read = await iterator.next(session, wanted);
    count ??= read.page.count ?? null;
    pages.push({ from: length, read });
    length += read.rest.length;
    if (cursor) end = indexOfCursor(cursor);
  } while (end === -1 && !iterator.isDone());
  if (end === -1) end = length;
  const first = Math.max(0, end - last);
  const items = pages.flatMap(({ from, read }) =>
    read.rest.slice(Math.max(0, first - from), Math.max(0, end - from)),
  );
  const cursorAt = (index: number) => formatCursor(positionAfter(first + index), mark);
  return {
    items,
    cursorAt,
    endCursor: () => (items.length > 0 ? cursorAt(items.length - 1) : null),
    hasNext: cursor !== null,
    hasPrevious: start > 0 || end > last,
    count,
    scan: null,
  };

  function positionAfter(index: number): ListPosition {
    const page = pages.findLast(({ from }) => from <= index);
    return page ? page.read.positionAfter(index - page.from) : START;
  }

  /** The index of the item of a cursor; -1 if it was not read yet. Computed from offsets if possible, because comparing ties is slow. */
  function indexOfCursor(sought: ListPosition): number {
    if (paging.by !== "offset") {
      for (let index = 0; index < length; index++) if (isAt(positionAfter(index), sought)) return index;
      return -1;
    }
    const index = Math.max(0, offsetIn(sought.query, paging) + sought.skip - 1 - start);
    return index < length ? index : -1;
  }

  async function startOfLast(): Promise<number> {
    if (paging.by !== "offset") return 0;
    if (cursor) return Math.max(0, offsetIn(cursor.query, paging) + cursor.skip - 1 - last);
    // If this page is the whole list, the iterator shares its response.
    const { page, next } = await readStep(session, list, START, wanted);
    return next && page.count != null ? Math.max(0, page.count - last) : 0;
  }
}

const isAt = (one: ListPosition, other: ListPosition): boolean =>
  one.skip === other.skip && serialize(one.query) === serialize(other.query);

export class PageIterator<At, Item> {
  readonly #list: List<At, Item>;
  readonly #pageSize: number;
  readonly #smallest: number;
  readonly #seen = new Set<string>();
  #position: ListPosition | null;

  /** `pageSize`: the page size to request if pages of the server's own size are too large. */
  constructor(list: List<At, Item>, start: ListPosition, pageSize: number) {
    this.#list = list;
    this.#position = start;
    this.#pageSize = pageSize;
    this.#smallest = Math.max(1, Math.floor(pageSize / SMALLEST));
  }

  /** Whether the last page was read. */
  isDone(): boolean {
    return this.#position === null;
  }

  /** Reads the next page. If the page size can be chosen, reads up to `wanted` items, and fewer if that response would be too large. */
  async next(session: Session, wanted: number): Promise<PageRead<Item>> {
    const position = this.#position ?? START;
    const { path: route } = this.#list.endpoint;
    const query = serialize(position.query);
    if (this.#seen.has(query)) throw loopError(route);
    if (this.#seen.size >= MAX_PAGES) {
      const message = `More than ${MAX_PAGES} pages; ask for fewer items at once.`;
      throw new GatewayError("PAGE_LIMIT_REACHED", message, { upstream: { method: "GET", route } });
    }
    this.#seen.add(query);
    const step = await this.#readFitting(session, position, wanted);
    this.#position = step.next;
    return step;
  }

  /** Reads the next page of a list that is read to its end. The last tie may be incomplete, so it is left to the next page. */
  async nextOfAll(session: Session): Promise<PageRead<Item>> {
    const step = await this.next(session, Number.POSITIVE_INFINITY);
    if (this.isDone() || session.server.profile.paging.by !== "offset") return step;
    const { rest } = step;
    const count = startOfLastTie(rest, this.#list.sortedBy);
    if (count === 0) return step;
    this.#position = step.positionAfter(count - 1);
    return { ...step, rest: rest.slice(0, count) };
  }

  /** Reads a page. While it is too large, tries again with fewer items. */
  async #readFitting(session: Session, position: ListPosition, wanted: number): Promise<PageRead<Item>> {
    const { largePages, server } = session;
    const { paging } = server.profile;
    const known = largePages.find(() => listFingerprint(this.#list));
    let most = known === undefined ? Number.POSITIVE_INFINITY : this.#below(known);
    for (;;) {
      try {
        return await readStep(session, this.#list, position, wanted, most);
      } catch (error) {
        const size = Math.min(wanted, most);
        const isSizable = paging.by === "offset" && paging.size !== null;
        if (!isTooLarge(error) || !isSizable || size <= this.#smallest) throw error;
        largePages.add(listFingerprint(this.#list), size);
        most = this.#below(size);
      }
    }
  }

  /** The page size to try after one that was too large. */
  #below(size: number): number {
    return Math.min(this.#pageSize, Math.max(this.#smallest, Math.floor(size / SMALLER)));
  }
}
