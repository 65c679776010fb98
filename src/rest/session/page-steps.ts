import type { Query } from "../api/batches.ts";
import type { Get } from "../api/endpoint.ts";
import type { Page } from "../api/page.ts";
import type { Paging } from "../api/profile.ts";
import { UpstreamError } from "../../errors.ts";
import { pageParameters, type Place, serialize } from "./place.ts";
import type { Session, Wants } from "./session.ts";

export interface List<At, Item> {
  readonly endpoint: Get<At, Page<Item>>;
  readonly address: At;
  /** Parameters of our own on every page: an order, a filter. */
  readonly base?: Query;
  /** What is needed, when lists of others may be read with this one. */
  readonly part?: NonNullable<Wants["part"]>;
}

/** One page as it is walked: what it holds behind our place in it, and where its items lie. */
export interface Step<Item> {
  readonly page: Page<Item>;
  readonly rest: readonly Item[];
  /** The place behind the item of this index of the rest. */
  readonly behind: (index: number) => Place;
  readonly next: Place | null;
}

/** Reads the page of a place, or as many items as are wanted from it on, as this server pages. */
export function readStep<At, Item>(session: Session, list: List<At, Item>, place: Place, wanted: number) {
  const { paging } = session.server.profile;
  switch (paging.by) {
    case "link":
      return stepByLink(session, list, place, paging);
    case "cursor":
      return stepByCursor(session, list, place, { paging, wanted });
    case "offset":
      return stepByOffset(session, list, place, { paging, wanted });
    case "page":
      return stepByPage(session, list, place, { paging, wanted });
  }
}

type PagingBy<By extends Paging["by"]> = Extract<Paging, { readonly by: By }>;

/** How a server pages, and how many items are wanted at most. */
interface Asked<By extends Paging["by"]> {
  readonly paging: PagingBy<By>;
  readonly wanted: number;
}

const readPage = <At, Item>(
  session: Session,
  { endpoint, address, base, part }: List<At, Item>,
  query: Query,
) => session.read(endpoint, address, { query: { ...base, ...query }, ...(part ? { part } : {}) });

/** On a server that takes no parameters its page links are all there is. */
async function stepByLink<At, Item>(
  session: Session,
  list: List<At, Item>,
  place: Place,
  paging: Paging,
): Promise<Step<Item>> {
  const page = await readPage(session, list, place.query);
  const link = linkOf(page, list.endpoint.path, paging);
  if (link && serialize(link) === serialize(place.query)) throw circle(list.endpoint.path);
  return stepWithin(page, place, link && { query: link, skip: 0 });
}

/** On a server that tells cursors, which lie behind whole pages: a page begins where one ended. */
async function stepByCursor<At, Item>(
  session: Session,
  list: List<At, Item>,
  place: Place,
  { paging, wanted }: Asked<"cursor">,
): Promise<Step<Item>> {
  const { query, skip } = place;
  const page = await readPage(session, list, { ...sizeQuery(paging, skip + wanted), ...query });
  const { next, results } = page;
  if (next && next === query[paging.parameter] && results.length > 0) throw circle(list.endpoint.path);
  // A server may give shorter pages than were asked for, so that the place lies on a later one.
  const later = { query: { [paging.parameter]: next ?? "" }, skip: Math.max(0, skip - results.length) };
  return stepWithin(page, place, next && results.length > 0 ? later : null);
}

/** A step from a place that is counted from the beginning of a page. */
function stepWithin<Item>(page: Page<Item>, { query, skip }: Place, next: Place | null): Step<Item> {
  const last = page.results.length - 1;
  return {
    page,
    rest: page.results.slice(skip),
    // Behind the last item of a page the next one begins: reading on does not ask for this page again.
    behind: (index) => (skip + index === last && next ? next : { query, skip: skip + index + 1 }),
    next,
  };
}

/** On a server that takes an offset a place is a number, and what is wanted is asked for at once. */
async function stepByOffset<At, Item>(
  session: Session,
  list: List<At, Item>,
  { query, skip }: Place,
  { paging, wanted }: Asked<"offset">,
): Promise<Step<Item>> {
  const offset = (numberIn(query, paging.parameter) ?? 0) + skip;
  const placeAt = (at: number): Place => ({ query: { [paging.parameter]: `${at}` }, skip: 0 });
  const size = sizeQuery(paging, wanted);
  const page = await readPage(session, list, { ...size, ...(offset > 0 ? placeAt(offset).query : {}) });
  const end = offset + page.results.length;
  return {
    page,
    rest: page.results,
    behind: (index) => placeAt(offset + index + 1),
    next: hasMore(page, { end, size, session }) ? placeAt(end) : null,
  };
}

/** On a server that counts pages. All pages of a walk are as long as its first one: else their numbers mean other items. */
async function stepByPage<At, Item>(
  session: Session,
  list: List<At, Item>,
  { query, skip }: Place,
  { paging, wanted }: Asked<"page">,
): Promise<Step<Item>> {
  const number = numberIn(query, paging.parameter) ?? paging.first;
  const size = query[paging.size]
    ? { [paging.size]: query[paging.size] ?? "" }
    : sizeQuery(paging, skip + wanted);
  const numbered = number === paging.first ? {} : { [paging.parameter]: `${number}` };
  const page = await readPage(session, list, { ...size, ...numbered });
  const { length } = page.results;
  const asked = numberIn(size, paging.size);
  // A server may give shorter pages than were asked for. Its first page tells how long they are.
  const pageSize = asked !== null && number > paging.first ? asked : Math.min(length, asked ?? length);
  const placeAt = (at: number, behind: number): Place => ({
    query: { [paging.size]: `${pageSize}`, [paging.parameter]: `${at}` },
    skip: behind,
  });
  const end = (number - paging.first) * pageSize + length;
  const next = hasMore(page, { end, size, session }) ? placeAt(number + 1, Math.max(0, skip - length)) : null;
  return stepWithin(page, placeAt(number, skip), next);
}

/** Whether there is more behind a page that ends at this place: by the length of the list, by its link, or by its own length. */
function hasMore(
  { results, count, next }: Page<unknown>,
  { end, size, session }: { readonly end: number; readonly size: Query; readonly session: Session },
): boolean {
  if (results.length === 0) return false;
  if (count != null) return end < count;
  if (session.server.profile.envelope.next !== null) return next != null && next !== "";
  return Object.values(size).every((asked) => results.length >= Number(asked));
}

/** Asks for as many items as are wanted, where the server takes that. */
function sizeQuery(
  { size, maxSize }: { readonly size: string | null; readonly maxSize: number | null },
  wanted: number,
): Query {
  return size !== null && Number.isFinite(wanted) ? { [size]: `${Math.min(wanted, maxSize ?? wanted)}` } : {};
}

function numberIn(query: Query, name: string): number | null {
  const { [name]: text = "" } = query;
  return /^\d+$/.test(text) ? Number(text) : null;
}

export const circle = (route: string) =>
  new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's page links lead in a circle.", {
    upstream: { method: "GET", route },
  });

/**
 * The parameters of the next page. The link itself is made from a Host header and leads anywhere:
 * only its query string is read, and only known parameters of it.
 */
function linkOf(page: Page<unknown>, route: string, paging: Paging): Query | null {
  if (page.next == null || page.next === "") return null;
  if (!URL.canParse(page.next, "http://page")) {
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's link to the next page cannot be read.", {
      upstream: { method: "GET", route },
    });
  }
  return pageParameters(new URL(page.next, "http://page").searchParams, paging);
}
