import { hash } from "node:crypto";
import type { Query } from "../api/batches.ts";
import type { Get } from "../api/endpoint.ts";
import type { Page } from "../api/reader.ts";
import type { Paging } from "../api/profile.ts";
import { badPages, nextQuery, type Position, positionAt, serialize, START } from "./position.ts";
import type { Session, Wants } from "./session.ts";

/* How one page of a list is read, in the way its server pages. */

export interface List<At, Item> {
  readonly endpoint: Get<At, Page<Item>>;
  readonly address: At;
  /** Parameters of every page: an order, a filter. */
  readonly base?: Query;
  /** What else narrows the list, as text: what the gateway compares itself. */
  readonly narrowing?: string;
  /** Whether servers with offsets leave open the order of rows with equal times, and take no second key for it. */
  readonly isTied?: boolean;
  /** The keys that are needed, so that lists of other runs may be batched with this one. */
  readonly part?: NonNullable<Wants["part"]>;
}

/** Tells a list from others in its cursors: by its endpoint, its parent, its order and its filter. */
export const markOf = <At, Item>({ endpoint, address, base = {}, narrowing }: List<At, Item>): string =>
  hash("sha1", JSON.stringify([endpoint.path, address, base, narrowing]), "base64url").slice(0, 8);

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
  if (paging.by === "link") return stepByLink(session, list, position, paging);
  const step = list.isTied && paging.size !== null ? stepInBlock : stepByOffset;
  return step(session, list, position, paging, wanted);
}

type PagingBy<By extends Paging["by"]> = Extract<Paging, { readonly by: By }>;

const readPage = <At, Item>(
  session: Session,
  { endpoint, address, base, part }: List<At, Item>,
  query: Query,
) => session.read(endpoint, address, { query: base ? { ...base, ...query } : query, part });

/** Follows page links, on a server that accepts no page parameters. */
async function stepByLink<At, Item>(
  session: Session,
  list: List<At, Item>,
  { query, skip }: Position,
  paging: PagingBy<"link">,
): Promise<Step<Item>> {
  const page = await readPage(session, list, query);
  const link = nextQuery(page, list.endpoint.path, paging);
  if (link && serialize(link) === serialize(query)) throw loopError(list.endpoint.path);
  const next = link && { query: link, skip: 0 };
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

/** The offset of a page; 0 where a forged cursor has none. */
function offsetIn(query: Query, { parameter }: PagingBy<"offset">): number {
  const offset = query[parameter] ?? "";
  return /^\d+$/.test(offset) ? Number(offset) : 0;
}

/** Reads from an offset, with all wanted items in one page. */
async function stepByOffset<At, Item>(
  session: Session,
  list: List<At, Item>,
  { query, skip }: Position,
  paging: PagingBy<"offset">,
  wanted: number,
): Promise<Step<Item>> {
  const offset = offsetIn(query, paging) + skip;
  const size = Number.isFinite(wanted) && paging.size;
  const page = await readPage(session, list, {
    ...(size && { [size]: `${Math.min(wanted, paging.maxSize ?? wanted)}` }),
    ...positionAt(offset, paging).query,
  });
  // A server that takes no offset would have the same rows for ever.
  const isBehind = offset > 0 && offset >= (page.count ?? Number.POSITIVE_INFINITY);
  const end = offset + page.results.length;
  return {
    page,
    rest: isBehind ? [] : page.results,
    positionAfter: (index) => positionAt(offset + index + 1, paging),
    next: hasMore(page, end) ? positionAt(end, paging) : null,
  };
}

/** Rows of a block. Hardly any list with ties has more. */
const BLOCK = 100;

/**
 * Reads from an offset of a list with ties. Pages of different sizes have equal rows in different orders: so each page is a part
 * of a block, which is the same for all, unless the server's own page is the whole list.
 */
async function stepInBlock<At, Item>(
  session: Session,
  list: List<At, Item>,
  { query, skip }: Position,
  paging: PagingBy<"offset">,
  wanted: number,
): Promise<Step<Item>> {
  const offset = offsetIn(query, paging) + skip;
  const isOpen = offset === 0 && wanted === Number.POSITIVE_INFINITY;
  const usual = isOpen ? await stepByOffset(session, list, START, paging, wanted) : null;
  if (usual && !usual.next) return { ...usual, rest: untied(usual.rest) };
  const size = Math.min(BLOCK, paging.maxSize ?? BLOCK);
  const skipped = offset % size;
  const block = positionAt(offset - skipped, paging);
  const { page, rest, next, positionAfter } = await stepByOffset(session, list, block, paging, size);
  const items = untied(rest).slice(skipped, skipped + (usual?.rest.length ?? size));
  // A server with shorter pages.
  if (items.length === 0 && next) return stepByOffset(session, list, { query, skip }, paging, wanted);
  const last = skipped + items.length - 1;
  return {
    page,
    rest: items,
    positionAfter: (index) => positionAfter(skipped + index),
    next: last < rest.length - 1 ? positionAfter(last) : next,
  };
}

/** Of rows with equal times the older one goes first. */
function untied<Item>(rows: readonly Item[]): readonly Item[] {
  // Safe: lists with ties have records with ids and times.
  const records = rows as readonly { readonly id: number; readonly created_at?: string | null }[];
  const sorted: unknown = records.toSorted((a, b) => (a.created_at === b.created_at ? a.id - b.id : 0));
  return sorted as readonly Item[];
}

/** Whether more items follow a page that ends there: by the list's count, otherwise by the page's link. */
const hasMore = ({ results, count, next }: Page<unknown>, end: number): boolean =>
  results.length > 0 && (count == null ? next != null && next !== "" : end < count);

export const loopError = (route: string) => badPages(route, "The service's page links lead in a circle.");
