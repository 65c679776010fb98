import { UpstreamError } from "../../errors.ts";
import {
  formatCursor,
  parseCursor,
  type Position,
  positionAt as startAt,
  serialize,
  START,
} from "./position.ts";
import { type List, loopError, markOf, readStep, type Step } from "./steps.ts";
import type { Session } from "./session.ts";

export interface Slice<Item> {
  readonly items: readonly Item[];
  /** The cursor of an item, which points after it. */
  readonly cursorAt: (index: number) => string;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** Length of the whole list by the service's count; null when unknown. */
  readonly count: number | null;
}

export interface SliceRequest {
  /** Number of items; null for those of the first upstream page, which is exactly one request. */
  readonly first: number | null;
  /** Maximum number of items when `first` is null, and the largest page size that a cursor can request. */
  readonly maxSize: number;
  /** A cursor of an earlier slice; null for the start of the list. */
  readonly after: string | null;
  /** Number of items to skip. Above 0 only without a cursor, and where the server can page to any offset. */
  readonly offset?: number;
}

/** Maximum pages that one field reads. */
export const MAX_PAGES = 100;

/** Reads the pages of a list until it has `first` items; with null only the first page, up to `maxSize` items. */
export async function slice<At, Item>(
  session: Session,
  list: List<At, Item>,
  { first, maxSize, after, offset = 0 }: SliceRequest,
): Promise<Slice<Item>> {
  const { paging } = session.server.profile;
  const mark = markOf(list);
  const start = after === null ? startAt(offset, paging) : parseCursor(after, mark, paging, maxSize);
  const wanted = first ?? maxSize;
  const walk = new Walk(session, list, start);
  let items: readonly Item[] = [];
  /** The pages, each with the index of its first item. */
  const pages: { readonly from: number; readonly step: Step<Item> }[] = [];
  let hasNext = false;
  do {
    const missing = first === null ? Number.POSITIVE_INFINITY : first - items.length;
    const step = await walk.next(missing);
    const { rest, next } = step;
    pages.push({ from: items.length, step });
    const room = wanted - items.length;
    const added = rest.length <= room ? rest : rest.slice(0, room);
    // Lists of equal fields have the page's own items: a copy for each of them takes most of their memory.
    items = items.length === 0 ? added : [...items, ...added];
    hasNext = added.length < rest.length || next !== null;
    // Without `first` one page is enough, unless all its items are before the cursor.
  } while (items.length < (first ?? 1) && !walk.isDone());
  const count = pages[0]?.step.page.count ?? null;
  return {
    items,
    cursorAt: (index) => {
      const page = pages.findLast(({ from }) => from <= index);
      if (!page) throw new RangeError("expected the index of an item");
      return formatCursor(page.step.positionAfter(index - page.from), mark);
    },
    hasNext,
    // A cursor points after an item, so with a cursor there is always a previous item. An offset can be behind the end.
    hasPrevious: after !== null || (offset > 0 && count !== 0),
    count,
  };
}

/**
 * Finds the cursor of the end of a list by its count, with one request for one item. Returns null where the server does not
 * count or has no offsets: the end is then found by reading the pages.
 */
export async function endOf<At, Item>(session: Session, list: List<At, Item>): Promise<string | null> {
  const { paging } = session.server.profile;
  if (paging.by !== "offset") return null;
  const { page } = await readStep(session, list, START, 1);
  if (page.count == null) return null;
  return formatCursor(startAt(page.count, paging), markOf(list));
}

/** Reads all pages of a list. */
export async function* pagesOf<At, Item>(
  session: Session,
  list: List<At, Item>,
): AsyncGenerator<readonly Item[]> {
  const walk = new Walk(session, list, START);
  do yield (await walk.next(Number.POSITIVE_INFINITY)).rest;
  while (!walk.isDone());
}

/** Reads the pages of a list one after the other. */
export class Walk<At, Item> {
  readonly #session: Session;
  readonly #list: List<At, Item>;
  readonly #seen = new Set<string>();
  #position: Position | null;

  constructor(session: Session, list: List<At, Item>, start: Position) {
    this.#session = session;
    this.#list = list;
    this.#position = start;
  }

  /** Whether the last page was read. */
  isDone(): boolean {
    return this.#position === null;
  }

  /** Reads the next page, up to `wanted` items where the page size can be chosen. */
  async next(wanted: number): Promise<Step<Item>> {
    const position = this.#position ?? START;
    const { path: route } = this.#list.endpoint;
    const query = serialize(position.query);
    if (this.#seen.has(query)) throw loopError(route);
    if (this.#seen.size >= MAX_PAGES) throw limitError(route);
    this.#seen.add(query);
    const step = await readStep(this.#session, this.#list, position, wanted);
    this.#position = step.next;
    return step;
  }
}

const limitError = (route: string) =>
  new UpstreamError("PAGE_LIMIT_REACHED", `More than ${MAX_PAGES} pages; ask for fewer items at once.`, {
    upstream: { method: "GET", route },
  });
