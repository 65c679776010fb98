import { InputError } from "../../errors.ts";
import type { Query } from "../api/batches.ts";
import type { Paging } from "../api/profile.ts";
import { MAX_RECORDS } from "../api/values.ts";

/** A place in a list: behind the first `skip` items of the page that `query` names. Holds no state of ours. */
export interface Place {
  readonly query: Query;
  readonly skip: number;
}

export const START: Place = { query: {}, skip: 0 };

/** The query parameters that name a page, and what each of them tells. */
type Meanings = Readonly<Record<string, "size" | "offset" | "page" | "cursor">>;

function meaningsOf(paging: Paging): Meanings {
  if (paging.by === "link") return paging.parameters;
  return { ...(paging.size === null ? {} : { [paging.size]: "size" }), [paging.parameter]: paging.by };
}

/** The parameters that name a page, in the order of the profile; anything else is not ours to send. */
export function pageParameters(params: URLSearchParams, paging: Paging): Query {
  return Object.fromEntries(
    Object.keys(meaningsOf(paging)).flatMap((name) =>
      params.has(name) ? [[name, params.get(name) ?? ""]] : [],
    ),
  );
}

export const serialize = (query: Query): string => new URLSearchParams(query).toString();

/** A cursor is base64url of `<query string>#<skip>`. */
export const formatCursor = ({ query, skip }: Place): string =>
  Buffer.from(`${serialize(query)}#${skip}`).toString("base64url");

const MAX_CURSOR_LENGTH = 4_000;

/** Reads a cursor, which anybody can write: it asks for no longer page than `most`. Throws `InputError`. */
export function parseCursor(cursor: string, paging: Paging, most: number): Place {
  const text = cursor.length > MAX_CURSOR_LENGTH ? "" : Buffer.from(cursor, "base64url").toString("utf8");
  const found = /^([^#]*)#(\d{1,9})$/.exec(text);
  const query = pageParameters(new URLSearchParams(found?.[1]), paging);
  const skip = Number(found?.[2]);
  const place =
    found && serialize(query) === found[1] && skip <= MAX_RECORDS && !isTooFar(query, meaningsOf(paging))
      ? withinPage({ query, skip }, paging, most)
      : null;
  if (place) return place;
  throw new InputError(`after: expected a cursor of this list, got ${JSON.stringify(cursor.slice(0, 60))}`);
}

/** Ten digits: no list is so long, and databases refuse what does not fit into their integers. */
const isTooFar = (query: Query, meanings: Meanings): boolean =>
  Object.entries(query).some(
    ([name, value]) => (meanings[name] === "offset" || meanings[name] === "page") && /\d{10}/.test(value),
  );

/**
 * The same place in pages of at most `most`; null where there is none. A server's own links can ask for longer pages
 * (metrics of known servers: 300,000). Where places are counted in items, a shorter page begins at the very place.
 * Behind other links the size is left out: the server takes its own, which is that of its links, because no request
 * asks for another.
 */
function withinPage({ query, skip }: Place, paging: Paging, most: number): Place | null {
  const meanings = meaningsOf(paging);
  const named = Object.entries(query);
  const sizes = named.filter(([name]) => meanings[name] === "size");
  if (sizes.every(([, size]) => /^\d{1,9}$/.test(size) && Number(size) <= most)) return { query, skip };
  if (paging.by === "page") return placeByPage({ query, skip }, paging, most);
  const [[sizeName] = [""]] = sizes;
  const place = named.filter(([name]) => meanings[name] !== "size");
  const offsetName = Object.keys(meanings).find((name) => meanings[name] === "offset");
  const countsItems = place.every(([name, value]) => name === offsetName && /^\d+$/.test(value));
  if (offsetName === undefined || !countsItems) return { query: Object.fromEntries(place), skip };
  const [[, offset] = ["", "0"]] = place;
  const shorter = new URLSearchParams({ [sizeName]: `${most}`, [offsetName]: `${Number(offset) + skip}` });
  return { query: pageParameters(shorter, paging), skip: 0 };
}

/** The same place in pages of another length, which are counted anew. */
function placeByPage(
  { query, skip }: Place,
  { parameter, size, first, maxSize }: Extract<Paging, { readonly by: "page" }>,
  most: number,
): Place {
  const { [parameter]: number = `${first}`, [size]: length = "0" } = query;
  const items = (Number(number) - first) * Number(length) + skip;
  const shorter = Math.min(most, maxSize ?? most);
  return {
    query: { [size]: `${shorter}`, [parameter]: `${Math.floor(items / shorter) + first}` },
    skip: items % shorter,
  };
}
