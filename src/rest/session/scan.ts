import type { Session } from "./session.ts";
import { MAX_PAGES, type Slice, type SliceRequest, Walk } from "./pages.ts";
import { formatCursor, parseCursor, type Position, START } from "./position.ts";
import { type List, markOf } from "./steps.ts";

/** How much of a list was compared with a filter that the service cannot be told. */
export interface Scan {
  readonly rowsRead: number;
  /** Whether the end of the list was reached. */
  readonly isComplete: boolean;
}

export interface ScannedSlice<Item> extends Slice<Item> {
  /** Where the scan goes on, also when it has found nothing; null when there is nothing behind it. */
  readonly endCursor: string | null;
  readonly scan: Scan;
}

interface ScanRequest<Item> extends Pick<SliceRequest, "first" | "maxSize" | "after"> {
  /** Number of rows after which the scan ends. */
  readonly maxRows: number;
  /** Finds the indexes of the rows that match. */
  readonly find: (rows: readonly Item[]) => Promise<readonly number[]>;
}

/** Reads the pages of a list until `first` rows match, `maxRows` are read, or the list ends. */
export async function scanList<At, Item>(
  session: Session,
  list: List<At, Item>,
  { first, maxSize, after, maxRows, find }: ScanRequest<Item>,
): Promise<ScannedSlice<Item>> {
  const mark = markOf(list);
  const start = after === null ? START : parseCursor(after, mark, session.server.profile.paging, maxSize);
  const walk = new Walk(session, list, start);
  const wanted = first ?? maxSize;
  const items: Item[] = [];
  const positions: (() => Position)[] = [];
  let [rowsRead, matches, pages] = [0, 0, 0];
  let next: Position | null = null;
  do {
    const step = await walk.next(Math.min(maxSize, maxRows - rowsRead));
    const found = await find(step.rest);
    for (const index of found.slice(0, wanted - items.length)) {
      items.push(step.rest[index] as Item);
      positions.push(() => step.positionAfter(index));
    }
    rowsRead += step.rest.length;
    matches += found.length;
    pages++;
    ({ next } = step);
  } while (items.length < wanted && rowsRead < maxRows && pages < MAX_PAGES && !walk.isDone());
  const cursorAt = (index: number) => {
    const position = positions[index];
    if (!position) throw new RangeError("expected the index of an item");
    return formatCursor(position(), mark);
  };
  const isComplete = walk.isDone();
  const isBehindLast = matches === items.length && next !== null;
  return {
    items,
    cursorAt,
    hasNext: !isComplete || matches > items.length,
    hasPrevious: after !== null,
    count: isComplete && after === null ? matches : null,
    endCursor:
      isBehindLast && next ? formatCursor(next, mark) : items.length > 0 ? cursorAt(items.length - 1) : null,
    scan: { rowsRead, isComplete },
  };
}
