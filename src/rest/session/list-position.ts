import { fromBase64url, toBase64url } from "../api/reference.ts";
import { InputError, GatewayError } from "../../errors.ts";
import type { Query } from "../api/batch-rules.ts";
import type { Page } from "../api/reader.ts";
import type { Paging } from "../api/profile.ts";
import { MAX_RECORDS } from "../api/record.ts";
import type { ShownTie } from "./ties.ts";

/** A position in a list: after the first `skip` items of the page with these parameters. Cursors encode it. */
export interface ListPosition {
  readonly query: Query;
  readonly skip: number;
  /** The tie before this position, if more of its rows may follow. */
  readonly shown?: ShownTie | undefined;
  /** Whether the position is a number that the caller has chosen. It is then unknown which rows earlier pages have shown. */
  readonly isNumbered?: boolean;
  /** The time for which the gateway sorted the list, in milliseconds since 1970. All pages that follow each other are sorted for it. */
  readonly sortedAt?: number | undefined;
}

export const START: ListPosition = { query: {}, skip: 0 };

/** The position after `offset` items, on a server with offsets. */
export const positionAt = (offset: number, paging: Paging): ListPosition =>
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
  // Creating `URLSearchParams` is avoided for most first pages, which have no parameters.
  return "";
}

/** Maximum rows of a tie in a cursor. */
const MAX_SHOWN = 1_000;

/** A cursor is base64url of `<query>#<skip>#<mark>`. `<hash>:<ids>#` (a tie) or `@<time>#` (of sorting) may precede the mark. */
export function formatCursor({ query, skip, shown, sortedAt }: ListPosition, mark: string): string {
  const tie = shown ? `${shown.values}:${packed(shown.ids)}#` : "";
  const time = sortedAt === undefined ? "" : `@${sortedAt}#`;
  return toBase64url(`${serialize(query)}#${skip}#${tie}${time}${mark}`);
}

/** Encodes ids in ascending order, each as its distance from the previous id, in base 36. */
function packed(ids: readonly number[]): string {
  if (ids.length > MAX_SHOWN) throw tooManyTied();
  const sorted = ids.toSorted((one, other) => one - other);
  return sorted.map((id, index) => (id - (sorted[index - 1] ?? 0)).toString(36)).join(".");
}

const unpacked = (text: string): number[] => {
  let id = 0;
  return text.split(".").map((distance) => (id += Number.parseInt(distance, 36)));
};

/** The error for a tie that is too long to be read page by page. */
export const tooManyTied = () =>
  new GatewayError(
    "PAGE_LIMIT_REACHED",
    "Too many rows have equal values in this order, and the service leaves open which of them comes first. Request larger pages or another order.",
  );

/** Maximum length of cursors, and of links to a next page, in characters. */
const MAX_CURSOR_LENGTH = 8_000;

const CURSOR =
  /^([^#]*)#(\d{1,9})#(?:([\w-]{6}):([\da-z]{1,10}(?:\.[\da-z]{1,10}){0,999})#)?(?:@(\d{1,15})#)?[^#]*$/;

/**
 * Parses a cursor. Clients can forge a cursor, so a page size above `maxSize` is ignored. The server then uses its own page size. (Its
 * links contain that size too, because the gateway requests no other.) Only the rows of a tie may exceed `maxSize`. Throws `InputError`,
 * including for a cursor of a list with another mark.
 */
export function parseCursor(
  cursor: string,
  mark: string,
  paging: Paging,
  maxSize: number,
  argument = "after",
): ListPosition {
  const text = cursor.length > MAX_CURSOR_LENGTH ? "" : fromBase64url(cursor);
  const found = text.endsWith(`#${mark}`) ? CURSOR.exec(text) : null;
  const meanings = paging.by === "link" ? paging.parameters : {};
  const given = Object.entries(pageParameters(new URLSearchParams(found?.[1]), paging));
  // No list is that long, and databases reject numbers above their range of integers.
  const isTooFar = given.some(([name, value]) => /\d{10}/.test(value) && meanings[name] !== "cursor");
  const skip = Number(found?.[2]);
  if (!found || skip > MAX_RECORDS || isTooFar) throw notACursor(cursor, argument);
  const query = given.filter(([name, value]) => meanings[name] !== "size" || Number(value) <= maxSize);
  const [, , , values, ids, time] = found;
  const shown = values && ids ? { values, ids: unpacked(ids) } : undefined;
  return { query: Object.fromEntries(query), skip, shown, sortedAt: time ? Number(time) : undefined };
}

export const notACursor = (cursor: string, argument = "after") =>
  new InputError(`${argument}: expected a cursor of this list, got ${JSON.stringify(cursor.slice(0, 60))}`);

/** The parameters of the next page; null on the last one. Only known ones are used, because the link may point to any host. */
export function nextQuery(page: Page<unknown>, route: string, paging: Paging): Query | null {
  if (page.next == null || page.next === "") return null;
  if (page.next.length > MAX_CURSOR_LENGTH || !URL.canParse(page.next, "http://page")) {
    throw badPages(route, "The service's link to the next page cannot be read.");
  }
  return pageParameters(new URL(page.next, "http://page").searchParams, paging);
}

export const badPages = (route: string, message: string) =>
  new GatewayError("UPSTREAM_BAD_RESPONSE", message, { upstream: { method: "GET", route } });
