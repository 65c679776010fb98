import { UpstreamError } from "../../errors.ts";
import type { Server } from "../../rest/api/server.ts";
import type { Steps } from "../core/context.ts";

/* What the gateway itself looks for in the rows of a list, because the server cannot be asked for it. */

/** Finds the indexes of the rows that match, in steps. */
export type FindRows = (rows: readonly object[]) => Steps<readonly number[]>;

/** Rows that are compared without a pause. */
const STRIDE = 100;

export const findRows = (isMatch: (row: object) => boolean): FindRows =>
  function* (rows) {
    const found: number[] = [];
    for (const [index, row] of rows.entries()) {
      if (index % STRIDE === STRIDE - 1) yield;
      if (isMatch(row)) found.push(index);
    }
    return found;
  };

/** Finds the rows that match both; null where there is nothing to look for. */
export function both(one: FindRows | null, other: FindRows | null): FindRows | null {
  if (!one || !other) return one ?? other;
  return function* (rows) {
    const found = new Set(yield* one(rows));
    return (yield* other(rows)).filter((index) => found.has(index));
  };
}

/** Whether the rows of the lists of this server have a key. */
export const isInRows = (server: Server, record: string, key: string): boolean =>
  !server.omits(record, key) && !server.profile.omittedInLists[record]?.includes(key);

/** The value of a row that is compared. Throws `UpstreamError` for a row without the key. */
export function valueOf(row: object, key: string): unknown {
  // Safe: any object has properties by name.
  if (key in row) return (row as Record<string, unknown>)[key];
  throw new UpstreamError("UPSTREAM_BAD_RESPONSE", `A row of the service's list lacks \`${key}\`.`);
}
