import type { Query } from "../api/batches.ts";
import type { Get } from "../api/endpoint.ts";
import type { Page } from "../api/page.ts";
import type { Paging } from "../api/profile.ts";
import { badPages, nextQuery, numberIn, type Position, serialize, sizeQuery } from "./position.ts";
import type { Session, Wants } from "./session.ts";

/* How one page of a list is read, in the way its server pages. */

export interface List<At, Item> {
  readonly endpoint: Get<At, Page<Item>>;
  readonly address: At;
  /** Parameters of every page: an order, a filter. */
  readonly base?: Query;
  /** The keys that are needed, so that lists of other runs may be batched with this one. */
  readonly part?: NonNullable<Wants["part"]>;
}

/** One page of a walk. */
export interface Step<Item> {
  readonly page: Page<Item>;
  /** The items after the current position. */
  readonly rest: readonly Item[];
  /** The position after the item at this index of `rest`. */
  readonly positionAfter: (index: number) => Position;
  /** The position of the next page; null on the last page. */
  readonly next: Position | null;
}

/** Reads the page at a position in the way this server pages: up to `wanted` items where the page size can be chosen. */
export function readStep<At, Item>(
  session: Session,
  list: List<At, Item>,
  position: Position,
  wanted: number,
) {
  const { paging } = session.server.profile;
  switch (paging.by) {
    case "link":
      return stepByLink(session, list, position, paging);
    case "cursor":
      return stepByCursor(session, list, position, { paging, wanted });
    case "offset":
      return stepByOffset(session, list, position, { paging, wanted });
    case "page":
      return stepByPage(session, list, position, { paging, wanted });
  }
}

/** How a server pages, and the maximum number of items that are needed. */
interface StepRequest<By extends Paging["by"]> {
  readonly paging: Extract<Paging, { readonly by: By }>;
  readonly wanted: number;
}

const readPage = <At, Item>(
  session: Session,
  { endpoint, address, base, part }: List<At, Item>,
  query: Query,
) => session.read(endpoint, address, { query: { ...base, ...query }, ...(part ? { part } : {}) });

/** Follows page links, on a server that accepts no page parameters. */
async function stepByLink<At, Item>(
  session: Session,
  list: List<At, Item>,
  position: Position,
  paging: Paging,
): Promise<Step<Item>> {
  const page = await readPage(session, list, position.query);
  const link = nextQuery(page, list.endpoint.path, paging);
  if (link && serialize(link) === serialize(position.query)) throw loopError(list.endpoint.path);
  return stepWithin(page, position, link && { query: link, skip: 0 });
}

/** Follows the server's cursors, each of which points to the end of a page. */
async function stepByCursor<At, Item>(
  session: Session,
  list: List<At, Item>,
  position: Position,
  { paging, wanted }: StepRequest<"cursor">,
): Promise<Step<Item>> {
  const { query, skip } = position;
  const page = await readPage(session, list, { ...sizeQuery(paging, skip + wanted), ...query });
  const { next, results } = page;
  if (next && next === query[paging.parameter] && results.length > 0) throw loopError(list.endpoint.path);
  // A server may return shorter pages than requested, so that the position is on a later page.
  const later = { query: { [paging.parameter]: next ?? "" }, skip: Math.max(0, skip - results.length) };
  return stepWithin(page, position, next && results.length > 0 ? later : null);
}

/** A step from a position that counts from the start of a page. */
function stepWithin<Item>(page: Page<Item>, { query, skip }: Position, next: Position | null): Step<Item> {
  const last = page.results.length - 1;
  return {
    page,
    // The same array if it is whole: what is computed from it is remembered by it.
    rest: skip === 0 ? page.results : page.results.slice(skip),
    // After the last item comes the next page, so that continuing does not request this page again.
    positionAfter: (index) => (skip + index === last && next ? next : { query, skip: skip + index + 1 }),
    next,
  };
}

/** Reads from an offset, with all wanted items in one page. */
async function stepByOffset<At, Item>(
  session: Session,
  list: List<At, Item>,
  { query, skip }: Position,
  { paging, wanted }: StepRequest<"offset">,
): Promise<Step<Item>> {
  const offset = (numberIn(query, paging.parameter) ?? 0) + skip;
  const size = sizeQuery(paging, wanted);
  const positionAt = (at: number): Position => ({ query: { [paging.parameter]: `${at}` }, skip: 0 });
  const page = await readPage(session, list, { ...size, ...(offset > 0 ? positionAt(offset).query : {}) });
  const end = offset + page.results.length;
  return {
    page,
    rest: page.results,
    positionAfter: (index) => positionAt(offset + index + 1),
    next: hasMore(page, { end, size, session }) ? positionAt(end) : null,
  };
}

/** Reads a numbered page. All pages of a walk have the size of its first one, since page numbers depend on the size. */
async function stepByPage<At, Item>(
  session: Session,
  list: List<At, Item>,
  { query, skip }: Position,
  { paging, wanted }: StepRequest<"page">,
): Promise<Step<Item>> {
  const number = numberIn(query, paging.parameter) ?? paging.first;
  const size = query[paging.size]
    ? { [paging.size]: query[paging.size] ?? "" }
    : sizeQuery(paging, skip + wanted);
  const numbered = number === paging.first ? {} : { [paging.parameter]: `${number}` };
  const page = await readPage(session, list, { ...size, ...numbered });
  const { length } = page.results;
  const requested = numberIn(size, paging.size);
  // A server may return shorter pages than requested. The first page shows their size.
  const pageSize =
    requested !== null && number > paging.first ? requested : Math.min(length, requested ?? length);
  const positionAt = (at: number, skipped: number): Position => ({
    query: { [paging.size]: `${pageSize}`, [paging.parameter]: `${at}` },
    skip: skipped,
  });
  const end = (number - paging.first) * pageSize + length;
  const next = hasMore(page, { end, size, session })
    ? positionAt(number + 1, Math.max(0, skip - length))
    : null;
  if (next && length < pageSize) {
    // Pages of another size start elsewhere, so the items are not those of the position.
    throw badPages(list.endpoint.path, "The service's page is shorter than requested, and not the last one.");
  }
  return stepWithin(page, positionAt(number, skip), next);
}

/** Whether more pages follow: by the list's count, by the page's link, or because the page is full. */
function hasMore(
  { results, count, next }: Page<unknown>,
  { end, size, session }: { readonly end: number; readonly size: Query; readonly session: Session },
): boolean {
  if (results.length === 0) return false;
  if (count != null) return end < count;
  if (session.server.profile.envelope.next !== null) return next != null && next !== "";
  return Object.values(size).every((requested) => results.length >= Number(requested));
}

export const loopError = (route: string) => badPages(route, "The service's page links lead in a circle.");
