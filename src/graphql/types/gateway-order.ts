import { InputError } from "../../errors.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import type { MetricDirection } from "../../rest/api/profile.ts";
import { entriesOf, millisecondsOf, valueAt } from "../../rest/api/record.ts";
import type { ExperimentRecord, RunnableRecord } from "../../rest/api/records.ts";
import type { Server } from "../../rest/api/server.ts";
import { compareIds, idOf } from "../../rest/session/ties.ts";
import type { WholeList } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { compareText, sorted } from "../core/cooperative-algorithms.ts";
import { quote } from "../core/ids.ts";
import { makeEach, type CooperativeTask } from "../../util/cooperative-task.ts";
import { isInRows } from "./scan.ts";
import { finite } from "./series.ts";
import { durationSeconds } from "./status.ts";

/* Orders that servers do not support. The gateway reads the whole list and sorts its rows. */

type Value = number | string;

export interface SortKey {
  /** The path of the argument, for error messages. */
  readonly argument: string;
  /** The row keys from which `valueOf` computes the value. */
  readonly keys: readonly string[];
  readonly direction: MetricDirection;
  /** The name of the parameter that is compared; absent for other orders. */
  readonly parameter?: string;
  /**
   * Returns the value by which a row is sorted. A row without one is omitted from the list: null if the value cannot be sorted, undefined
   * if the row lacks the parameter. `now` is in milliseconds.
   */
  readonly valueOf: (row: RunnableRecord, now: number) => Value | null | undefined;
}

export const byDuration = (direction: MetricDirection): SortKey => ({
  argument: "order.by.field",
  keys: ["started_at", "finished_at"],
  direction,
  valueOf: (row, now) => {
    const seconds = durationSeconds(row, now);
    const sinceStart = (now - millisecondsOf(row.started_at ?? "")) / 1000;
    // All pages are sorted as of `now`, the time of the first page. A run that has ended since then was still active at that time.
    return seconds !== null && sinceStart > 0 ? Math.min(seconds, sinceStart) : seconds;
  },
});

export const byParameter = (name: string, direction: MetricDirection): SortKey => ({
  argument: "order.by.parameter",
  keys: ["declarations"],
  parameter: name,
  direction,
  valueOf: ({ declarations }: Partial<ExperimentRecord>) => {
    const value = valueAt(declarations, name);
    return typeof value === "string" || value === undefined ? value : finite(value);
  },
});

/** Throws `GatewayError` if list items of this server lack the compared keys. */
export function requireSortKeys({ argument, keys }: SortKey, server: Server, record: string): void {
  if (!keys.every((key) => isInRows(server, record, key)))
    throw notOffered(`\`${argument}\` for such a list`);
}

/** Maximum number of names that an error suggests. */
const MAX_SUGGESTED = 10;

/**
 * The error for a metric or parameter that no experiment of a list has. It suggests names from `values`, the metrics or parameters of one
 * experiment.
 */
export function missingName(
  argument: string,
  kind: "metric" | "parameter",
  name: string,
  values: unknown,
): InputError {
  const names: string[] = [];
  for (const [each] of entriesOf(values)) if (names.push(quote(each)) > MAX_SUGGESTED) break;
  const others = names.splice(MAX_SUGGESTED).length > 0 ? " and others" : "";
  const suggested = names.length > 0 ? `; there are ${names.toSorted().join(", ")}${others}` : "";
  return new InputError(
    `${argument}: expected a ${kind} of the list, got ${quote(name)}, which no experiment has${suggested}`,
  );
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

/**
 * Sorts the rows of a list as of `now`, and omits rows without a value. Sorts rows with equal values by their ids, because their order in
 * responses may vary. Rejects with `InputError` if the list was not read to its end, or if no row has the parameter.
 */
export async function sortedRows<Row extends RunnableRecord>(
  { records, scannedRows, isComplete }: Omit<WholeList<unknown, Row>, "nodeAt">,
  key: SortKey,
  now: number,
  context: Context,
): Promise<readonly Row[]> {
  const { argument } = key;
  if (!isComplete)
    throw new InputError(
      `${argument}: expected a list of at most ${context.gateway.maxScannedRows} runs, because the gateway sorts it; narrow it with \`filter\``,
    );
  context.onScan?.([argument], scannedRows);
  return context.runCooperatively(sort(records, key, now));
}

function* sort<Row extends RunnableRecord>(
  rows: readonly Row[],
  { argument, parameter, direction, valueOf }: SortKey,
  now: number,
): CooperativeTask<readonly Row[]> {
  let isFound = rows.length === 0;
  const valued = yield* makeEach(rows, function* (row) {
    yield;
    const value = valueOf(row, now);
    isFound ||= value !== undefined;
    return value == null ? null : { row, value, id: idOf(row) };
  });
  const { declarations }: Partial<ExperimentRecord> = rows[0] ?? {};
  if (!isFound && parameter !== undefined) throw missingName(argument, "parameter", parameter, declarations);
  const sign = direction === "ASC" ? 1 : -1;
  const inOrder = yield* sorted(
    valued,
    (one, other) => sign * compare(one.value, other.value) || compareIds(one, other),
  );
  return inOrder.map(({ row }) => row);
}
