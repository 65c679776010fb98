import { fromBase64url, toBase64url } from "../api/reference.ts";
import { InputError, UpstreamError } from "../../errors.ts";
import type { Query } from "../api/batches.ts";
import type { Page } from "../api/reader.ts";
import type { Paging } from "../api/profile.ts";
import { MAX_RECORDS } from "../api/record.ts";

/** A position in a list: after the first `skip` items of the page with these parameters. Cursors encode it. */
export interface Position {
  readonly query: Query;
  readonly skip: number;
}

export const START: Position = { query: {}, skip: 0 };

/** The position after `offset` items, on a server with offsets. */
export const positionAt = (offset: number, paging: Paging): Position =>
  offset > 0 && paging.by === "offset" ? { query: { [paging.parameter]: `${offset}` }, skip: 0 } : START;

/** The query parameters that select a page, with their meanings. */
type Meanings = Readonly<Record<string, "size" | "offset" | "page" | "cursor">>;

function meaningsOf(paging: Paging): Meanings {
  if (paging.by === "link") return paging.parameters;
  return { ...(paging.size === null ? {} : { [paging.size]: "size" }), [paging.parameter]: paging.by };
}

/** The parameters that select a page, in the order of the profile. Drops all others. */
function pageParameters(params: URLSearchParams, paging: Paging): Query {
  return Object.fromEntries(
    Object.keys(meaningsOf(paging)).flatMap((name) =>
      params.has(name) ? [[name, params.get(name) ?? ""]] : [],
    ),
  );
}

export function serialize(query: Query): string {
  for (const _ in query) return new URLSearchParams(query).toString();
  // As for most first pages.
  return "";
}

/** A cursor is base64url of `<query string>#<skip>#<mark of the list>`. */
export const formatCursor = ({ query, skip }: Position, mark: string): string =>
  toBase64url(`${serialize(query)}#${skip}#${mark}`);

const MAX_CURSOR_LENGTH = 4_000;

/**
 * Parses a cursor. Clients can forge one, so it cannot request pages above `maxSize`. Throws `InputError`, also for a cursor
 * of a list with another mark.
 */
export function parseCursor(cursor: string, mark: string, paging: Paging, maxSize: number): Position {
  const text = cursor.length > MAX_CURSOR_LENGTH ? "" : fromBase64url(cursor);
  const found = text.endsWith(`#${mark}`) ? /^([^#]*)#(\d{1,9})#[^#]*$/.exec(text) : null;
  const query = pageParameters(new URLSearchParams(found?.[1]), paging);
  const skip = Number(found?.[2]);
  if (found && serialize(query) === found[1] && skip <= MAX_RECORDS && !isTooFar(query, meaningsOf(paging)))
    return withinPage({ query, skip }, paging, maxSize);
  throw new InputError(`after: expected a cursor of this list, got ${JSON.stringify(cursor.slice(0, 60))}`);
}

/** Whether a number has ten digits: no list is that long, and databases reject numbers above their integers. */
const isTooFar = (query: Query, meanings: Meanings): boolean =>
  Object.entries(query).some(
    ([name, value]) => (meanings[name] === "offset" || meanings[name] === "page") && /\d{10}/.test(value),
  );

/**
 * Converts a position to pages of at most `maxSize` items. A server's own links can request
 * larger pages (metrics of known servers: 300,000). With an offset, a smaller page starts exactly at the position. With
 * other links the size is omitted: the server uses its default, which is the size in its links as well, because no
 * request sets another one.
 */
function withinPage({ query, skip }: Position, paging: Paging, maxSize: number): Position {
  const meanings = meaningsOf(paging);
  const named = Object.entries(query);
  const sizes = named.filter(([name]) => meanings[name] === "size");
  if (sizes.every(([, size]) => /^\d{1,9}$/.test(size) && Number(size) <= maxSize)) return { query, skip };
  const [[sizeName] = [""]] = sizes;
  const rest = named.filter(([name]) => meanings[name] !== "size");
  const offsetName = Object.keys(meanings).find((name) => meanings[name] === "offset");
  const countsItems = rest.every(([name, value]) => name === offsetName && /^\d+$/.test(value));
  if (offsetName === undefined || !countsItems) return { query: Object.fromEntries(rest), skip };
  const [[, offset] = ["", "0"]] = rest;
  const shorter = new URLSearchParams({ [sizeName]: `${maxSize}`, [offsetName]: `${Number(offset) + skip}` });
  return { query: pageParameters(shorter, paging), skip: 0 };
}

/** The page size parameter for the wanted number of items; empty when the server has none. */
export function sizeQuery(
  { size, maxSize }: { readonly size: string | null; readonly maxSize: number | null },
  wanted: number,
): Query {
  return size !== null && Number.isFinite(wanted) ? { [size]: `${Math.min(wanted, maxSize ?? wanted)}` } : {};
}

/** The number that a parameter holds; 0 without one. */
export function numberIn(query: Query, name: string): number {
  const { [name]: text = "" } = query;
  return /^\d+$/.test(text) ? Number(text) : 0;
}

/**
 * The parameters of the next page; null on the last one. Servers build the link from the Host header, so it can point
 * anywhere: only the known parameters of its query are used.
 */
export function nextQuery(page: Page<unknown>, route: string, paging: Paging): Query | null {
  if (page.next == null || page.next === "") return null;
  if (!URL.canParse(page.next, "http://page")) {
    throw badPages(route, "The service's link to the next page cannot be read.");
  }
  return pageParameters(new URL(page.next, "http://page").searchParams, paging);
}

/** The error of pages that do not fit together. */
export const badPages = (route: string, message: string) =>
  new UpstreamError("UPSTREAM_BAD_RESPONSE", message, { upstream: { method: "GET", route } });
