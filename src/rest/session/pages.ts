import type { Query } from "../api/batches.ts";
import type { Page } from "../api/page.ts";
import { UpstreamError } from "../../errors.ts";
import { pageLoopError, type List, readStep, type Step } from "./page-steps.ts";
import { formatCursor, parseCursor, type Position, serialize, START } from "./position.ts";
import type { Session } from "./session.ts";

export interface Slice<Item> {
  readonly items: readonly { readonly cursor: string; readonly item: Item }[];
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
}

/** Maximum pages that one field reads. */
const MAX_PAGES = 100;

/** Reads the pages of a list until it has `first` items; with null only the first page, up to `maxSize` items. */
export async function slice<At, Item>(
  session: Session,
  list: List<At, Item>,
  { first, maxSize, after }: SliceRequest,
): Promise<Slice<Item>> {
  const start = after === null ? START : parseCursor(after, session.server.profile.paging, maxSize);
  const wanted = first ?? maxSize;
  const items: { cursor: string; item: Item }[] = [];
  let firstPage: Page<Item> | null = null;
  let hasNext = false;

  const missing = () => (first === null ? Number.POSITIVE_INFINITY : first - items.length);
  for await (const { page, rest, positionAfter, next } of walk(session, list, start, missing)) {
    firstPage ??= page;
    const added = rest.slice(0, wanted - items.length);
    for (const [index, item] of added.entries())
      items.push({ cursor: formatCursor(positionAfter(index)), item });
    hasNext = added.length < rest.length || next !== null;
    // Without `first` one page is enough, unless all its items are before the cursor.
    if (items.length >= (first ?? 1)) break;
  }
  // A cursor points after an item, so with a cursor there is always a previous item.
  return { items, hasNext, hasPrevious: after !== null, count: firstPage?.count ?? null };
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
  return formatCursor({ query: { [paging.parameter]: `${page.count}` }, skip: 0 });
}

/** Reads all pages of a list. */
export async function* pagesOf<At, Item>(
  session: Session,
  list: List<At, Item>,
): AsyncGenerator<readonly Item[]> {
  for await (const { rest } of walk(session, list, START, () => Number.POSITIVE_INFINITY)) yield rest;
}

async function* walk<At, Item>(
  session: Session,
  list: List<At, Item>,
  start: Position,
  wanted: () => number,
): AsyncGenerator<Step<Item>> {
  const seen = new Set<string>();
  for (let position: Position | null = start; position !== null;) {
    checkWalk(seen, position.query, list.endpoint.path);
    seen.add(serialize(position.query));
    const step: Step<Item> = await readStep(session, list, position, wanted());
    yield step;
    position = step.next;
  }
}

function checkWalk(seen: ReadonlySet<string>, next: Query, route: string): void {
  if (seen.has(serialize(next))) throw pageLoopError(route);
  if (seen.size >= MAX_PAGES) {
    throw new UpstreamError(
      "PAGE_LIMIT_REACHED",
      `More than ${MAX_PAGES} pages; ask for fewer items at once.`,
      {
        upstream: { method: "GET", route },
      },
    );
  }
}
