import { UpstreamError } from "../../errors.ts";
import { Walk } from "../../rest/session/pages.ts";
import { START } from "../../rest/session/position.ts";
import type { Session } from "../../rest/session/session.ts";
import type { List } from "../../rest/session/steps.ts";
import type { WholeList } from "../core/connection.ts";

/** The records of a whole list. */
interface WholeRecords<Item extends object> extends Omit<WholeList<unknown>, "nodeAt"> {
  readonly records: readonly Item[];
}

interface WholeRequest<Item> {
  readonly most: number;
  readonly maxSize: number;
  /** The rows that match what the service cannot compare; null where it compares all. */
  readonly matching: ((rows: readonly Item[]) => Promise<readonly Item[]>) | null;
}

/** What ends a list early without being a fault of the service: the limits of the operation. */
const isLimit = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  (error.code === "REQUEST_LIMIT_EXCEEDED" || error.code === "PAGE_LIMIT_REACHED");

/** Reads a list from its beginning until `most` rows are read, or the operation may read no more. */
export async function readWhole<At, Item extends object>(
  session: Session,
  list: List<At, Item>,
  { most, maxSize, matching }: WholeRequest<Item>,
): Promise<WholeRecords<Item>> {
  const walk = new Walk(session, list, START);
  const rows: Item[] = [];
  let [read, total]: [number, number | null] = [0, null];
  do {
    const step = await walk.next(Math.min(maxSize, most - read)).catch((error: unknown) => {
      if (read > 0 && isLimit(error)) return null;
      throw error;
    });
    if (!step) return { records: rows, total, isComplete: false };
    if (!matching) total ??= step.page.count ?? null;
    // A service may send more rows than were asked for.
    const given = step.rest.slice(0, most - read);
    for (const row of matching ? await matching(given) : given) rows.push(row);
    read += step.rest.length;
  } while (read < most && !walk.isDone());
  const isComplete = walk.isDone() && read <= most;
  return { records: rows, total: total ?? (isComplete ? rows.length : null), isComplete };
}
