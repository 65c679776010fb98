import { InputError, OneOfSeveral, UpstreamError } from "../../errors.ts";
import { MAX_IDS } from "../core/connection.ts";

/* Mutations of several records at a time, of which some can fail. */

/** The description of an argument `ids`. */
export const severalIds = (example: string | null): string =>
  `Global ids, or unique names such as \`${example}\`: 1 to ${MAX_IDS}.`;

/** Throws `InputError` for none and for too many. */
export function checkIds(ids: readonly string[]): void {
  if (ids.length < 1 || ids.length > MAX_IDS)
    throw new InputError(`ids: expected 1 to ${MAX_IDS} ids, got ${ids.length}`);
}

/** What became of one of several: a result, or the error of the service. */
export type Outcome<Result> = Result | UpstreamError;

/** The error of the service as a value. */
export const orError = <Value>(promise: Promise<Value>): Promise<Outcome<Value>> =>
  promise.catch((error: unknown) => {
    if (error instanceof UpstreamError) return error;
    throw error;
  });

/** A result, or the error as that of an item of a list, which knows what became of the others. */
export async function orThrow<Result extends object>(
  outcome: Outcome<Result>,
  _index: number,
  all: readonly Outcome<object>[],
): Promise<Result> {
  if (outcome instanceof UpstreamError) throw new OneOfSeveral(outcome, all.map(wordOf));
  return outcome;
}

/** What became of a command, as one word. */
function wordOf(outcome: Outcome<object>): string {
  if (!(outcome instanceof UpstreamError))
    return "isSent" in outcome && outcome.isSent === false ? "not sent" : "done";
  const { outcome: unknown, upstream } = outcome.facts;
  // Before a command is sent, the record is read.
  const isAnswered = upstream?.method !== "GET" && upstream?.status !== undefined;
  return unknown ?? (isAnswered ? "refused" : "not sent");
}
