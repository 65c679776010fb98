import type { Query } from "../api/batches.ts";
import type { Page } from "../api/page.ts";
import { UpstreamError } from "../../errors.ts";
import { circle, type List, readStep, type Step } from "./page-steps.ts";
import { formatCursor, parseCursor, type Place, serialize, START } from "./place.ts";
import type { Session } from "./session.ts";

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

/** Most pages that one field walks. */
const MAX_PAGES = 100;

/** Walks the pages of a list until it has `first` items; null: as many as the first page holds, `most` at most. */
export async function slice<At, Item>(
  session: Session,
  list: List<At, Item>,
  { first, most, after }: SliceRequest,
): Promise<Slice<Item>> {
  const start = after === null ? START : parseCursor(after, session.server.profile.paging, most);
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
    // Without `first` one page is enough, unless all of it lies in front of the cursor.
    if (items.length >= (first ?? 1)) break;
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
  start: Place,
  wanted: () => number,
): AsyncGenerator<Step<Item>> {
  const seen = new Set<string>();
  for (let place: Place | null = start; place !== null;) {
    refuseEndlessWalk(seen, place.query, list.endpoint.path);
    seen.add(serialize(place.query));
    const step: Step<Item> = await readStep(session, list, place, wanted());
    yield step;
    place = step.next;
  }
}

function refuseEndlessWalk(seen: ReadonlySet<string>, next: Query, route: string): void {
  if (seen.has(serialize(next))) throw circle(route);
  if (seen.size >= MAX_PAGES) {
    throw new UpstreamError(
      "PAGE_LIMIT_REACHED",
      `More than ${MAX_PAGES} pages; ask for fewer items at once.`,
      {
        upstream: { method: "GET", route },
      },
    );
  }
}
