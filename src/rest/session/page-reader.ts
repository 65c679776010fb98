import { hash } from "node:crypto";
import { isTooLarge } from "../../errors.ts";
import type { Query } from "../api/batch-rules.ts";
import type { Get } from "../api/endpoint.ts";
import type { Page } from "../api/reader.ts";
import type { Paging } from "../api/profile.ts";
import {
  badPages,
  nextQuery,
  type ListPosition,
  positionAt,
  serialize,
  tooManyTied,
} from "./list-position.ts";
import type { Session, Wants } from "./session.ts";
import {
  areTied,
  idOf,
  type ShownTie,
  sortTies,
  type SortKeys,
  tiesIn,
  valuesOf,
  withoutShown,
} from "./ties.ts";

export interface List<At, Item> {
  readonly endpoint: Get<At, Page<Item>>;
  readonly address: At;
  /** Query parameters of every page, such as an order or a filter. */
  readonly base?: Query;
  /** Identifies the conditions that the gateway itself evaluates on the rows. */
  readonly narrowing?: string;
  /** The keys by which servers with offset pagination sort the list. */
  readonly sortedBy: SortKeys;
  /** Whether the gateway sorts the rows of each tie by their ids. With offset pagination, it then reads blocks of at least 100 rows. */
  readonly areTiesSorted?: boolean;
  /** The keys that the caller needs. They determine whether the lists of other runs can be batched with this one. */
  readonly part?: NonNullable<Wants["part"]>;
}

/** A hash that identifies a list in its cursors: of its endpoint, its parent, its order and its filter. */
export const listFingerprint = <At, Item>({
  endpoint,
  address,
  base = {},
  narrowing,
}: List<At, Item>): string =>
  hash("sha1", JSON.stringify([endpoint.path, address, base, narrowing]), "base64url").slice(0, 8);

export interface PageRead<Item> {
  readonly page: Page<Item>;
  /** The items after the current position. */
  readonly rest: readonly Item[];
  /** The position after the item at this index of `rest`. */
  readonly positionAfter: (index: number) => ListPosition;
  /** The position of the next page; null on the last page. */
  readonly next: ListPosition | null;
}

/**
 * Reads the page at a position, depending on the server's kind of pagination. If the page size can be chosen, reads up to `wanted` items,
 * and requests at most `most` items at once, because a response with more was too large.
 */
export function readStep<At, Item>(
  session: Session,
  list: List<At, Item>,
  position: ListPosition,
  wanted: number,
  most = Number.POSITIVE_INFINITY,
) {
  const { paging: usual } = session.server.profile;
  if (usual.by === "link") return stepByLink(session, list, position, usual);
  const known = Math.min(most, session.largePages.limitOf(list.endpoint.path));
  const maxSize = Math.min(known, usual.maxSize ?? Number.POSITIVE_INFINITY);
  const paging = Number.isFinite(known) ? { ...usual, maxSize } : usual;
  const isBlock = list.areTiesSorted || (position.isNumbered && Number.isFinite(wanted));
  const step = isBlock && paging.size !== null ? stepInBlock : stepByOffset;
  return step(session, list, position, paging, Math.min(wanted, most));
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
  { query, skip }: ListPosition,
  paging: PagingBy<"link">,
): Promise<PageRead<Item>> {
  const page = await readPage(session, list, query);
  const link = nextQuery(page, list.endpoint.path, paging);
  if (link && serialize(link) === serialize(query)) throw loopError(list.endpoint.path);
  const next = link && { query: link, skip: 0 };
  const last = page.results.length - 1;
  return {
    page,
    // If all items are used, the same array must be returned, because memoized computations use it as a key.
    rest: skip === 0 ? page.results : page.results.slice(skip),
    // The position after the last item is the next page, so that continuing does not request this page again.
    positionAfter: (index) => (skip + index === last && next ? next : { query, skip: skip + index + 1 }),
    next,
  };
}

/** The offset of a page; 0 if it is missing, as in a forged cursor. */
export function offsetIn(query: Query, { parameter }: PagingBy<"offset">): number {
  const offset = query[parameter] ?? "";
  return /^\d+$/.test(offset) ? Number(offset) : 0;
}

/** Maximum rows that are read from a response to a request for fewer. A server that ignores the page size may send its whole list. */
const MAX_UNREQUESTED_ROWS = 10_000;

const cutPages = new WeakMap<readonly unknown[], readonly unknown[]>();

/** The first rows of a page. All readers of the same page receive the same array. */
function firstRows<Item>(all: readonly Item[], count: number): readonly Item[] {
  // Safe: `cutPages` maps each page to the first rows of that same page.
  const cut = cutPages.get(all) as readonly Item[] | undefined;
  if (cut?.length === count) return cut;
  const rows = all.slice(0, count);
  cutPages.set(all, rows);
  return rows;
}

/** Reads the rows from an offset on: `wanted` rows if the page size can be chosen. */
async function readFrom<At, Item>(
  session: Session,
  list: List<At, Item>,
  paging: PagingBy<"offset">,
  offset: number,
  wanted: number,
) {
  const size = Number.isFinite(wanted) && paging.size;
  const page = await readPage(session, list, {
    ...(size && { [size]: `${Math.min(wanted, paging.maxSize ?? wanted)}` }),
    ...positionAt(offset, paging).query,
  });
  // A server that ignores the offset would return the same rows forever.
  const isBehind = offset > 0 && offset >= (page.count ?? Number.POSITIVE_INFINITY);
  const { sortedBy, areTiesSorted = false } = list;
  const all = isBehind ? [] : page.results;
  const most = Math.max(wanted, MAX_UNREQUESTED_ROWS);
  const isCut = size !== false && all.length > most;
  const rows = isCut ? firstRows(all, most) : all;
  return {
    page,
    rows: areTiesSorted ? sortTies(rows, sortedBy) : rows,
    isLast: !isCut && !hasMore(page, offset + page.results.length),
  };
}

/** Reads a page that starts at an offset. Omits the rows of a tie that earlier pages have shown. */
async function stepByOffset<At, Item>(
  session: Session,
  list: List<At, Item>,
  { query, skip, shown }: ListPosition,
  paging: PagingBy<"offset">,
  wanted: number,
): Promise<PageRead<Item>> {
  const { sortedBy } = list;
  const offset = offsetIn(query, paging) + skip;
  const most = paging.size === null ? 0 : (paging.maxSize ?? Number.POSITIVE_INFINITY);
  // If several rows of a tie were shown, the tie probably has more rows.
  if (shown && shown.ids.length > 1 && Number.isFinite(wanted) && shown.ids.length + wanted <= most)
    return stepInTie(session, list, { offset, shown }, paging, wanted);
  const { page, rows, isLast } = await readFrom(session, list, paging, offset, wanted);
  if (shown && rows.length > 0 && valuesOf(rows[0], sortedBy) === shown.values)
    return stepInTie(session, list, { offset, shown }, paging, Math.min(wanted, rows.length));
  const tieAt = tiesIn(rows, sortedBy);
  const positionAfter = (index: number): ListPosition => ({
    ...positionAt(offset + index + 1, paging),
    shown: tieAt(index),
  });
  return { page, rest: rows, positionAfter, next: isLast ? null : positionAfter(rows.length - 1) };
}

/** Continues within a tie. Reads the tie from its first row on, because the rows that were not shown may now be anywhere in it. */
async function stepInTie<At, Item>(
  session: Session,
  list: List<At, Item>,
  { offset, shown }: { readonly offset: number; readonly shown: ShownTie },
  paging: PagingBy<"offset">,
  wanted: number,
): Promise<PageRead<Item>> {
  const { sortedBy } = list;
  const { values, ids } = shown;
  const start = Math.max(0, offset - ids.length);
  const { page, rows, isLast } = await readFrom(session, list, paging, start, ids.length + wanted);
  const { from, tied, fresh, behind } = withoutShown(rows, shown, sortedBy);
  const all = [...fresh, ...behind];
  const rest = all.slice(0, wanted);
  if (rest.length === 0 && !isLast) throw tooManyTied();
  const tieAt = tiesIn(behind, sortedBy);
  const positionAfter = (index: number): ListPosition =>
    index < fresh.length
      ? {
          ...positionAt(start + from + ids.length + index + 1, paging),
          shown: { values, ids: [...ids, ...fresh.slice(0, index + 1).map(idOf)] },
        }
      : {
          ...positionAt(start + from + tied.length + index - fresh.length + 1, paging),
          shown: tieAt(index - fresh.length),
        };
  const isWhole = isLast && rest.length === all.length;
  return { page, rest, positionAfter, next: isWhole ? null : positionAfter(rest.length - 1) };
}

/** Sizes of the blocks from which pages are read. A block begins and ends at a multiple of its size, so that many pages share it. */
const BLOCKS = [1, 100, 1_000];

/** Maximum rows of a tie that are read on each side of a page. */
const MAX_MARGIN = 1_000;

/** A block of rows, and the number of rows of the page that are read from it. */
interface Block {
  readonly start: number;
  readonly end: number;
  readonly count: number;
}

/**
 * The blocks from which a page can be read, in the order in which they are tried. The first block that contains the ties of the page
 * completely is used. A short tie may extend past an end of each block of a fixed size. The last block therefore has equally many rows
 * before and after the page, and only the first rows of the page if the server's pages are short.
 */
function blocksOf(page: Omit<Block, "end">, sizes: readonly number[], maxSize: number): readonly Block[] {
  const { start: offset, count } = page;
  const margin = Math.min(MAX_MARGIN, Math.floor(maxSize / 3));
  const part = Math.min(count, maxSize - 2 * margin);
  const blocks = sizes.map((size) => ({
    start: Math.max(0, Math.floor((offset - 1) / size) * size),
    end: Math.ceil((offset + count + 1) / size) * size,
    count,
  }));
  return [
    ...blocks.filter(({ start, end }) => end - start <= maxSize),
    { start: Math.max(0, offset - margin), end: offset + part + margin, count: part },
  ];
}

/**
 * Reads a page as part of a larger block, and sorts the rows of each tie by ids. The block must contain the ties at both ends of the page
 * completely. The page therefore has the same rows each time, and shares none with other pages. Throws `GatewayError` for a numbered page
 * within a tie that no block contains completely.
 */
async function stepInBlock<At, Item>(
  session: Session,
  list: List<At, Item>,
  position: ListPosition,
  paging: PagingBy<"offset">,
  wanted: number,
): Promise<PageRead<Item>> {
  const { sortedBy, areTiesSorted } = list;
  const readPlain = () => stepByOffset(session, list, position, paging, wanted);
  const offset = offsetIn(position.query, paging) + position.skip;
  const isOpen = wanted === Number.POSITIVE_INFINITY;
  const usual = isOpen && offset === 0 ? await readPlain() : null;
  if (usual && !usual.next) return usual;
  const [, large = 1] = BLOCKS;
  const maxSize = paging.maxSize ?? Number.POSITIVE_INFINITY;
  const most = Math.min(usual?.rest.length ?? (isOpen ? large : wanted), maxSize - 2);
  if (most < 1) return readPlain();
  const sizes = areTiesSorted ? BLOCKS.slice(1) : BLOCKS;
  const blocks = blocksOf({ start: offset, count: most }, sizes, maxSize);
  const { isNumbered = false } = position;
  // The cursors of pages that are read without a block contain the ties.
  if (blocks.length === 1 && !isNumbered) return readPlain();
  let isCut = false;
  for (const { start, end, count } of blocks) {
    const length = end - start;
    const block = await readFrom(session, list, paging, start, length).catch((error: unknown) => {
      // The block is too large because of the rows around the page. The page itself may fit.
      if (!isTooLarge(error) || length <= count + 2) throw error;
      return null;
    });
    if (!block) break;
    const { page, rows: read, isLast } = block;
    const rows = sortTies(read, sortedBy);
    const from = offset - start;
    const rest = rows.slice(from, from + count);
    const last = from + rest.length - 1;
    const isOver = last >= rows.length - 1;
    isCut =
      (start > 0 && areTied(rows[0], rows[from], sortedBy)) ||
      (!isLast && areTied(rows.at(-1), rows[last], sortedBy));
    // The server returned a shorter page than requested.
    const isShort = rows.length < length && !isLast;
    if (isShort && (isCut || rest.length < count)) {
      const { largePages } = session;
      const { path } = list.endpoint;
      largePages.learnLimit(path, rows.length);
      const learned = largePages.limitOf(path);
      if (learned < maxSize)
        return stepInBlock(session, list, position, { ...paging, maxSize: learned }, wanted);
      break;
    }
    if (isCut) continue;
    // An earlier page that was read without a block may have shown other rows of the tie than the first ones.
    const before = new Set(isNumbered ? [] : position.shown?.ids);
    if (rows.slice(Math.max(0, from - before.size), from).some((row) => !before.has(idOf(row))))
      return readPlain();
    const tieAt = tiesIn(rows, sortedBy);
    const positionAfter = (index: number): ListPosition => ({
      ...positionAt(offset + index + 1, paging),
      shown: tieAt(from + index),
    });
    return {
      page,
      rest,
      positionAfter,
      // The pages after a numbered page are read from blocks, too.
      next: isLast && isOver ? null : { ...positionAfter(rest.length - 1), isNumbered },
    };
  }
  if (isNumbered && isCut) throw tooManyTied();
  return readPlain();
}

/** Whether more items follow a page that ends here: by the list's count, otherwise by the page's link. */
const hasMore = ({ results, count, next }: Page<unknown>, end: number): boolean =>
  results.length > 0 && (count == null ? next != null && next !== "" : end < count);

export const loopError = (route: string) => badPages(route, "The service's page links lead in a circle.");
