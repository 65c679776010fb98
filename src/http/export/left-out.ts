import { type ErrorCode, type GatewayError, isGatewayError } from "../../errors.ts";
import type { Columns } from "./run-columns.ts";

/* Handles runs that cannot be read: one failed run does not end the export of a table. */

/** The reason why a run, or the rest of a run, is missing from the table; absent if nothing is missing. */
export interface LeftOut {
  readonly error?: string;
}

/** The column that reports why a run is missing. */
export const ERROR = {
  error: { keys: [], cellOf: (_, { error = null }) => error },
} satisfies Columns<LeftOut>;

/** Codes of failures that concern a single run, so other runs may still be read. */
const OF_ONE_RUN: readonly ErrorCode[] = [
  "NOT_FOUND",
  "FORBIDDEN",
  "UPSTREAM_ERROR",
  "UPSTREAM_BAD_RESPONSE",
  "UPSTREAM_TIMEOUT",
  "UPSTREAM_UNAVAILABLE",
  "PAGE_LIMIT_REACHED",
  "REQUEST_LIMIT_EXCEEDED",
];

/**
 * Maximum consecutive runs without a response. More show that the service is down, and the export would wait for another timeout for each
 * further run.
 */
const MAX_TIMEOUTS_IN_A_ROW = 4;

/**
 * Handles the failures of runs in a table. If the table has the column `error`, each failure is a row. Otherwise the file is aborted after
 * the rows of all other runs, so that it does not look complete.
 */
export function createLeftOut(columns: readonly { readonly name: string }[]) {
  const isReported = columns.some(({ name }) => Object.hasOwn(ERROR, name));
  let unreported: GatewayError | null = null;
  let unanswered = 0;
  return {
    countRead: (): void => {
      unanswered = 0;
    },
    /** The row that reports a failure; none without the column `error`. Throws a failure that concerns more than one run. */
    rowsOf: (failure: unknown): readonly LeftOut[] => {
      if (!isGatewayError(failure, ...OF_ONE_RUN)) throw failure;
      if (
        isGatewayError(failure, "UPSTREAM_TIMEOUT", "UPSTREAM_UNAVAILABLE") &&
        ++unanswered > MAX_TIMEOUTS_IN_A_ROW
      )
        throw failure;
      if (isReported) return [{ error: `${failure.code}: ${failure.message}` }];
      unreported ??= failure;
      return [];
    },
    /** Called after the last row. Throws the first failure that is in no row. */
    end: (): void => {
      if (unreported) throw unreported;
    },
  };
}
