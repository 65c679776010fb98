import { fromBase64url, toBase64url } from "../api/reference.ts";
import { InputError, Failure } from "../../errors.ts";
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

/** The parameters that select a page, in the order of the profile. Drops all others. */
function pageParameters(params: URLSearchParams, paging: Paging): Query {
  const names = paging.by === "offset" ? [paging.parameter] : Object.keys(paging.parameters);
  return Object.fromEntries(
    names.flatMap((name) => (params.has(name) ? [[name, params.get(name) ?? ""]] : [])),
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
 * Parses a cursor. Clients can forge one, so it cannot ask for pages above `maxSize`: without a size the server uses its own, which
 * is that of its links as well, because no request sets another one. Throws `InputError`, also for a cursor of a list with
 * another mark.
 */
export function parseCursor(cursor: string, mark: string, paging: Paging, maxSize: number): Position {
  const text = cursor.length > MAX_CURSOR_LENGTH ? "" : fromBase64url(cursor);
  const found = text.endsWith(`#${mark}`) ? /^([^#]*)#(\d{1,9})#[^#]*$/.exec(text) : null;
  const meanings = paging.by === "link" ? paging.parameters : {};
  const given = Object.entries(pageParameters(new URLSearchParams(found?.[1]), paging));
  // No list is that long, and databases reject numbers above their integers.
  const isTooFar = given.some(([name, value]) => /\d{10}/.test(value) && meanings[name] !== "cursor");
  const skip = Number(found?.[2]);
  if (!found || skip > MAX_RECORDS || isTooFar)
    throw new InputError(`after: expected a cursor of this list, got ${JSON.stringify(cursor.slice(0, 60))}`);
  const query = given.filter(([name, value]) => meanings[name] !== "size" || Number(value) <= maxSize);
  return { query: Object.fromEntries(query), skip };
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
  new Failure("UPSTREAM_BAD_RESPONSE", message, { upstream: { method: "GET", route } });
