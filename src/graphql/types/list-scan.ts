import { InputError, Failure } from "../../errors.ts";
import { slice, type SliceRequest, Walk } from "../../rest/session/pages.ts";
import type { List } from "../../rest/session/steps.ts";
import type { Server } from "../../rest/api/server.ts";
import { START } from "../../rest/session/position.ts";
import type { Session } from "../../rest/session/session.ts";
import { connect, type Connection, type PageArgs, type WholeList } from "../core/connection.ts";
import type { Context, Steps } from "../core/context.ts";

/* What the gateway itself looks for in the rows of a list, because the server cannot be asked for it. */

/** Whether a row matches. */
export type IsMatch = (row: object) => boolean;

/** Whether a row matches both; null where there is nothing to look for. */
export function both(one: IsMatch | null, other: IsMatch | null): IsMatch | null {
  return one && other ? (row) => one(row) && other(row) : (one ?? other);
}

/** Finds the indexes of the rows that match. A pause after each: its texts may be long. */
function* findMatching(rows: readonly object[], isMatch: IsMatch): Steps<readonly number[]> {
  const found: number[] = [];
  for (const [index, row] of rows.entries()) {
    yield;
    if (isMatch(row)) found.push(index);
  }
  return found;
}

/** Whether the rows of the lists of this server have a key. */
export const isInRows = (server: Server, record: string, key: string): boolean =>
  !server.omits(record, key) && !server.profile.omittedInLists[record]?.includes(key);

/** The value of a row that is compared. Throws `Failure` for a row without the key. */
export function valueOf(row: object, key: string): unknown {
  // Safe: any object has properties by name.
  if (key in row) return (row as Record<string, unknown>)[key];
  throw new Failure("UPSTREAM_BAD_RESPONSE", `A row of the service's list lacks \`${key}\`.`);
}

type Find<Row> = (rows: readonly Row[]) => Promise<readonly number[]>;

/**
 * Finds rows in time slices, and reports for which arguments they are compared. Throws `InputError` for an offset, which a scan
 * does not have.
 */
export function finding<Row extends object>(
  isMatch: IsMatch,
  compared: readonly string[],
  { offset }: PageArgs,
  context: Context,
): Find<Row> {
  if (offset != null) throw new InputError("offset: expected none where the gateway scans the list");
  return (rows) => {
    context.onScan?.(compared, rows.length);
    return context.inTurns(findMatching(rows, isMatch));
  };
}

interface PageRequest<Row> extends SliceRequest {
  /** Finds the rows that match what the service cannot compare; null where it compares all. */
  readonly find: Find<Row> | null;
  /** Called with rows that are read, whether they match or not. */
  readonly see?: (rows: readonly Row[]) => void;
}

/** Reads a page of a list: by a scan, where the gateway compares its rows. */
export async function readPage<At, Row, Node>(
  list: List<At, Row>,
  { find, see, ...request }: PageRequest<Row>,
  toNode: (row: Row) => Node,
  { session, gateway }: Context,
): Promise<Connection<Node>> {
  const findIn =
    find &&
    ((rows: readonly Row[]) => {
      see?.(rows);
      return find(rows);
    });
  const scanning = findIn && { maxRows: gateway.maxScannedRows, find: findIn };
  const page = await slice(session, list, request, scanning);
  if (!find) see?.(page.items);
  return connect(page, toNode);
}

interface WholeRequest<Item> extends Pick<PageRequest<Item>, "maxSize" | "find"> {
  readonly most: number;
}

/** What ends a list early without being a fault of the service: the limits of the operation. */
const isLimit = (error: unknown): boolean =>
  error instanceof Failure &&
  (error.code === "REQUEST_LIMIT_EXCEEDED" || error.code === "PAGE_LIMIT_REACHED");

/** Reads a list from its beginning until `most` rows are read, or the operation may read no more. */
export async function readWhole<At, Item extends object>(
  session: Session,
  list: List<At, Item>,
  { most, maxSize, find }: WholeRequest<Item>,
): Promise<Omit<WholeList<unknown, Item>, "nodeAt">> {
  const walk = new Walk(session, list, START);
  const rows: Item[] = [];
  let [read, total]: [number, number | null] = [0, null];
  do {
    const step = await walk.next(Math.min(maxSize, most - read)).catch((error: unknown) => {
      if (read > 0 && isLimit(error)) return null;
      throw error;
    });
    if (!step) return { records: rows, total, isComplete: false };
    if (!find) total ??= step.page.count ?? null;
    // A service may send more rows than were asked for.
    const given = step.rest.slice(0, most - read);
    for (const index of find ? await find(given) : given.keys()) {
      const row = given[index];
      if (row) rows.push(row);
    }
    read += step.rest.length;
  } while (read < most && !walk.isDone());
  const isComplete = walk.isDone() && read <= most;
  return { records: rows, total: total ?? (isComplete ? rows.length : null), isComplete };
}
