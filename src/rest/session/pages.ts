import type { Get } from "../api/endpoint.ts";
import { InputError, UpstreamError } from "../../errors.ts";
import { LONGEST_PAGE, type Page } from "../api/records.ts";
import type { Query } from "../api/batches.ts";
import type { Session, Wants } from "./session.ts";

export interface Slice<Item> {
  readonly items: readonly { readonly cursor: string; readonly item: Item }[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** Length of the whole list as the service counts it. */
  readonly count: number | null;
}

export interface SliceRequest {
  /** How many items; null: those of the first upstream page, exactly one request. */
  readonly first: number | null;
  /** Most items where `first` is null, and the longest page that a cursor can ask the service for. */
  readonly most: number;
  /** A cursor of an earlier slice; null: from the start. */
  readonly after: string | null;
}

/** A place in a list: behind the first `skip` items of the page that `query` names. Holds no state of ours. */
interface Position {
  readonly query: Query;
  readonly skip: number;
}

const START: Position = { query: {}, skip: 0 };

/** What is taken of a page link; anything else in it is not ours to send. */
const PAGE_PARAMETERS = ["limit", "offset", "page", "page_size", "cursor"];

/** Most pages that one field walks. */
const MOST_PAGES = 100;

interface List<At, Item> {
  readonly row: Get<At, Page<Item>>;
  readonly at: At;
  /** Parameters of our own on every page: an order, a filter. */
  readonly base?: Query;
  /** What is needed, when lists of others may be read with this one. */
  readonly part?: NonNullable<Wants["part"]>;
}

/** One page as it is walked: what it holds behind our place in it, and where its items lie. */
interface Step<Item> {
  readonly page: Page<Item>;
  readonly rest: readonly Item[];
  /** The place behind the item of this index of the rest. */
  readonly behind: (index: number) => Position;
  readonly next: Position | null;
}

/** Walks the pages of a list until it has `first` items; null: as many as the first page holds, `most` at most. */
export async function slice<At, Item>(
  session: Session,
  list: List<At, Item>,
  { first, most, after }: SliceRequest,
): Promise<Slice<Item>> {
  const start = after === null ? START : parseCursor(after, most);
  const wanted = first ?? most;
  const items: { cursor: string; item: Item }[] = [];
  let beginning: Page<Item> | null = null;
  let hasNext = false;

  const missing = () => (first === null ? Number.POSITIVE_INFINITY : first - items.length);
  for await (const { page, rest, behind, next } of walk(session, list, start, missing)) {
    beginning ??= page;
    const taken = rest.slice(0, wanted - items.length);
    for (const [index, item] of taken.entries()) items.push({ cursor: formatCursor(behind(index)), item });
    hasNext = taken.length < rest.length || next !== null;
    if (first === null || items.length >= wanted) break;
  }
  // A cursor lies behind an item, so whoever gives one has something in front.
  return { items, hasNext, hasPrevious: after !== null, count: beginning?.count ?? null };
}

/** All pages of a list, one after the other. */
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
  const stepFrom = session.paging ? stepByOffset : stepByLink;
  const seen = new Set<string>();
  for (let place: Position | null = start; place !== null;) {
    refuseEndlessWalk(seen, place.query, list.row.path);
    seen.add(serialize(place.query));
    const step: Step<Item> = await stepFrom(session, list, place, wanted());
    yield step;
    place = step.next;
  }
}

/** On a server that takes no parameters its page links are all there is. */
async function stepByLink<At, Item>(
  session: Session,
  { row, at, base, part }: List<At, Item>,
  { query, skip }: Position,
): Promise<Step<Item>> {
  const page = await session.read(row, at, { query: { ...base, ...query }, ...(part ? { part } : {}) });
  const link = nextOf(page, row.path);
  if (link && serialize(link) === serialize(query)) throw circle(row.path);
  const next = link && { query: link, skip: 0 };
  const last = page.results.length - 1;
  return {
    page,
    rest: page.results.slice(skip),
    // Behind the last item of a page the next one begins: reading on does not ask for this page again.
    behind: (index) => (skip + index === last && next ? next : { query, skip: skip + index + 1 }),
    next,
  };
}

/** On a server that takes `limit` and `offset` a place is a number, and what is wanted is asked for at once. */
async function stepByOffset<At, Item>(
  session: Session,
  { row, at, base, part }: List<At, Item>,
  place: Position,
  wanted: number,
): Promise<Step<Item>> {
  const offset = offsetOf(place);
  const limit: Query = Number.isFinite(wanted) ? { limit: `${wanted}` } : {};
  const query = { ...base, ...limit, ...(offset > 0 ? { offset: `${offset}` } : {}) };
  const page = await session.read(row, at, { query, ...(part ? { part } : {}) });
  const end = offset + page.results.length;
  const hasMore = page.results.length > 0 && (page.count == null ? page.next != null : end < page.count);
  return {
    page,
    rest: page.results,
    behind: (index) => positionAt(offset + index + 1),
    next: hasMore ? positionAt(end) : null,
  };
}

const offsetOf = ({ query: { offset = "" }, skip }: Position) =>
  (/^\d+$/.test(offset) ? Number(offset) : 0) + skip;
const positionAt = (offset: number): Position => ({ query: { offset: `${offset}` }, skip: 0 });

const circle = (route: string) =>
  new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's page links lead in a circle.", {
    upstream: { method: "GET", route },
  });

function refuseEndlessWalk(seen: ReadonlySet<string>, next: Query, route: string): void {
  if (seen.has(serialize(next))) throw circle(route);
  if (seen.size >= MOST_PAGES) {
    throw new UpstreamError(
      "PAGE_LIMIT_REACHED",
      `More than ${MOST_PAGES} pages; ask for fewer items at once.`,
      {
        upstream: { method: "GET", route },
      },
    );
  }
}

/**
 * The parameters of the next page. The link itself is made from a Host header and leads anywhere:
 * only its query string is read, and only known parameters of it.
 */
function nextOf(page: Page<unknown>, route: string): Query | null {
  if (page.next == null || page.next === "") return null;
  if (!URL.canParse(page.next, "http://page")) {
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's link to the next page cannot be read.", {
      upstream: { method: "GET", route },
    });
  }
  return pageParameters(new URL(page.next, "http://page").searchParams);
}

const pageParameters = (params: URLSearchParams): Query =>
  Object.fromEntries(
    PAGE_PARAMETERS.flatMap((name) => (params.has(name) ? [[name, params.get(name) ?? ""]] : [])),
  );

const serialize = (query: Query) => new URLSearchParams(query).toString();

/** A cursor is base64url of `<query string>#<skip>`. */
const formatCursor = ({ query, skip }: Position) =>
  Buffer.from(`${serialize(query)}#${skip}`).toString("base64url");

const LONGEST_CURSOR = 1_000;

/** Reads a cursor, which anybody can write: it asks for no longer page than `most`. Throws `InputError`. */
function parseCursor(cursor: string, most: number): Position {
  const text = cursor.length > LONGEST_CURSOR ? "" : Buffer.from(cursor, "base64url").toString("utf8");
  const found = /^([^#]*)#(\d{1,9})$/.exec(text);
  const query = pageParameters(new URLSearchParams(found?.[1]));
  const skip = Number(found?.[2]);
  if (!found || serialize(query) !== found[1] || skip > LONGEST_PAGE || isTooFar(query)) {
    throw new InputError(`after: expected a cursor of this list, got ${JSON.stringify(cursor.slice(0, 60))}`);
  }
  return withinPage({ query, skip }, most);
}

/** Ten digits: no list is so long, and databases refuse what does not fit into their integers. */
const isTooFar = ({ offset = "", page = "" }: Query) => /\d{10}/.test(`${offset} ${page}`);

const isSize = (text: string, most: number) => /^\d{1,9}$/.test(text) && Number(text) <= most;

/**
 * The same place in pages of at most `most`. A server's own links can ask for longer ones (metrics of known servers:
 * 300,000). Where places are counted in items, a shorter page begins at the very place. Elsewhere the size is left out:
 * the server takes its own, which is that of its links, because no request asks for another.
 */
function withinPage({ query, skip }: Position, most: number): Position {
  const { limit, page_size: size, ...place } = query;
  if (isSize(limit ?? "1", most) && isSize(size ?? "1", most)) return { query, skip };
  const { offset = "0", page, cursor } = place;
  const countsItems =
    limit !== undefined && page === undefined && cursor === undefined && /^\d+$/.test(offset);
  return countsItems
    ? { query: { limit: `${most}`, offset: `${Number(offset) + skip}` }, skip: 0 }
    : { query: place, skip };
}
