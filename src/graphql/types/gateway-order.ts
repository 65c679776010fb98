import { InputError } from "../../errors.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import type { MetricDirection } from "../../rest/api/profile.ts";
import { valueAt } from "../../rest/api/record.ts";
import type { ExperimentRecord, RunnableRecord } from "../../rest/api/records.ts";
import type { Server } from "../../rest/api/server.ts";
import type { WholeList } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { compareText, sorted } from "../core/cooperative-algorithms.ts";
import { makeEach, type Steps } from "../core/steps.ts";
import { isInRows } from "./scan.ts";
import { finite } from "./series.ts";
import { durationSeconds } from "./status.ts";

/* Orders that servers do not have: the gateway reads the whole list and sorts its rows. */

type Value = number | string;

export interface SortKey {
  /** Path of the argument, for messages of errors. */
  readonly argument: string;
  /** The keys of rows that are compared. */
  readonly keys: readonly string[];
  readonly direction: MetricDirection;
  /** The value of a row at a time in milliseconds; null for a row that the list omits. */
  readonly valueOf: (row: RunnableRecord, now: number) => Value | null;
}

export const byDuration = (direction: MetricDirection): SortKey => ({
  argument: "order.by.field",
  keys: ["started_at", "finished_at"],
  direction,
  valueOf: durationSeconds,
});

export const byParameter = (name: string, direction: MetricDirection): SortKey => ({
  argument: "order.by.parameter",
  keys: ["declarations"],
  direction,
  valueOf: ({ declarations }: Partial<ExperimentRecord>) => {
    const value = valueAt(declarations, name);
    return typeof value === "string" ? value : finite(value);
  },
});

/** Throws `GatewayError` if rows of this server's lists lack what is compared. */
export function requireSortKeys({ argument, keys }: SortKey, server: Server, record: string): void {
  if (!keys.every((key) => isInRows(server, record, key)))
    throw notOffered(`\`${argument}\` for such a list`);
}

/** Compares numbers before strings. */
const compare = (one: Value, other: Value): number =>
  typeof one === "number" && typeof other === "number"
    ? one - other
    : typeof one === "string" && typeof other === "string"
      ? compareText(one, other)
      : typeof one === "number"
        ? -1
        : 1;

/** The rows of a list that have a value, sorted. Equal values keep the order of the list. Throws `InputError` for a list that was not read to its end. */
export async function sortedRows<Row extends RunnableRecord>(
  { records, isComplete }: Pick<WholeList<unknown, Row>, "records" | "isComplete">,
  { argument, direction, valueOf }: SortKey,
  context: Context,
): Promise<readonly Row[]> {
  if (!isComplete)
    throw new InputError(
      `${argument}: expected a list of at most ${context.gateway.maxScannedRows} runs, because the gateway sorts it; narrow it with \`filter\``,
    );
  context.onScan?.([argument], records.length);
  const now = context.session.upstreamTime();
  return context.runCooperatively(sort(records, (row) => valueOf(row, now), direction));
}

function* sort<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => Value | null,
  direction: MetricDirection,
): Steps<readonly Row[]> {
  const valued = yield* makeEach(rows, function* (row) {
    yield;
    const value = valueOf(row);
    return value === null ? null : { row, value };
  });
  const sign = direction === "ASC" ? 1 : -1;
  const inOrder = yield* sorted(valued, (one, other) => sign * compare(one.value, other.value));
  return inOrder.map(({ row }) => row);
}
