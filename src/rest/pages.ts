import { type Get } from "./endpoint.ts";
import { InputError, UpstreamError } from "./errors.ts";
import { type Page } from "./records.ts";
import { type Query, type Session } from "./session.ts";

export interface Slice<Item> {
  readonly items: readonly { readonly cursor: string; readonly item: Item }[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** Length of the whole list as the service counts it. */
  readonly count: number | null;
}

export interface SliceRequest {
  /** How many items; null: the first upstream page, exactly one request. */
  readonly first: number | null;
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

/** Walks the pages of a list until it has `first` items. `base` are parameters of our own on every page. */
export async function slice<At, Item>(
  session: Session,
  list: { readonly row: Get<At, Page<Item>>; readonly at: At; readonly base?: Query },
  { first, after }: SliceRequest,
): Promise<Slice<Item>> {
  const start = after === null ? START : parseCursor(after);
  const wanted = first ?? Number.POSITIVE_INFINITY;
  const items: { cursor: string; item: Item }[] = [];
  const seen = new Set<string>();
  let position: Position | null = start;
  let count: number | null = null;
  let hasPrevious = start.skip > 0;
  let hasNext = false;

  while (position !== null) {
    const { query, skip }: Position = position;
    seen.add(serialize(query));
    const page = await session.read(list.row, list.at, { ...list.base, ...query });
    const next = nextOf(page, list.row.path);
    if (items.length === 0) {
      count ??= page.count ?? null;
      hasPrevious ||= position === start && page.previous != null;
    }
    const taken = page.results.slice(skip, skip + wanted - items.length);
    for (const [index, item] of taken.entries()) {
      const behind = skip + index + 1;
      const atEnd = behind === page.results.length && next !== null;
      items.push({ cursor: formatCursor(atEnd ? { query: next, skip: 0 } : { query, skip: behind }), item });
    }
    hasNext = skip + taken.length < page.results.length || next !== null;
    position = next !== null && first !== null && items.length < wanted ? { query: next, skip: 0 } : null;
    if (position !== null) refuseEndlessWalk(seen, position.query, list.row.path);
  }
  return { items, hasNext, hasPrevious, count };
}

function refuseEndlessWalk(seen: ReadonlySet<string>, next: Query, route: string): void {
  if (seen.has(serialize(next))) {
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's page links lead in a circle.", {
      upstream: { method: "GET", route },
    });
  }
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

function parseCursor(cursor: string): Position {
  const text = cursor.length > LONGEST_CURSOR ? "" : Buffer.from(cursor, "base64url").toString("utf8");
  const found = /^([^#]*)#(\d{1,9})$/.exec(text);
  const query = pageParameters(new URLSearchParams(found?.[1]));
  if (!found || serialize(query) !== found[1]) {
    throw new InputError(`after: expected a cursor of this list, got ${JSON.stringify(cursor.slice(0, 60))}`);
  }
  return { query, skip: Number(found[2]) };
}
