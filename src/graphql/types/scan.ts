import { InputError, GatewayError, isGatewayError } from "../../errors.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import {
  checkLength,
  type Condition,
  isSayable,
  MAX_QUERY_LENGTH,
  meaningOf,
} from "../../rest/api/list-query.ts";
import { isInner, millisecondsOf, valueAt } from "../../rest/api/record.ts";
import type { Server } from "../../rest/api/server.ts";
import { type ScanRequest, PageIterator } from "../../rest/session/pagination.ts";
import { START } from "../../rest/session/list-position.ts";
import type { List } from "../../rest/session/page-reader.ts";
import type { PageArgs, WholeList } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import type { CooperativeTask } from "../../util/cooperative-task.ts";
import { finite } from "./series.ts";

/* Scans: the gateway reads a list and tests its rows, if the server cannot apply a filter. */

/** The folded strings of rows with long strings, for searches by words. They are cached for all fields of an operation. */
export type FoldedRows = WeakMap<object, readonly string[]>;

/** Tests a row. A generator, because values may be long. */
export type IsMatch = (row: object, folded?: FoldedRows) => CooperativeTask<boolean>;

/** Returns a test that passes if both tests pass. A null test always passes; null if both are null. */
export function both(one: IsMatch | null, other: IsMatch | null): IsMatch | null {
  if (!one || !other) return one ?? other;
  return function* (row, folded) {
    return (yield* one(row, folded)) && (yield* other(row, folded));
  };
}

export function* findMatching(
  rows: readonly object[],
  isMatch: IsMatch,
  folded?: FoldedRows,
): CooperativeTask<readonly number[]> {
  const found: number[] = [];
  for (const [index, row] of rows.entries()) {
    yield;
    if (yield* isMatch(row, folded)) found.push(index);
  }
  return found;
}

export const isInRows = (server: Server, record: string, key: string): boolean =>
  !server.omits(record, key) && !server.profile.omittedInLists[record]?.includes(key);

/** Returns a value of a row. Throws `GatewayError` if the row lacks the key. */
export function valueOf(row: object, key: string): unknown {
  // Safe: any object has properties by name.
  if (key in row) return (row as Record<string, unknown>)[key];
  throw new GatewayError("UPSTREAM_BAD_RESPONSE", `A row of the service's list lacks \`${key}\`.`);
}

const foldedRows = new WeakMap<Context, FoldedRows>();

/**
 * Creates a scan for `readSlice`. It tests rows in time slices, and reports their number and the compared arguments to the trace. Throws
 * `InputError` if the arguments have an offset.
 */
export function scanFor<Row extends object>(
  isMatch: IsMatch,
  compared: readonly string[],
  { offset }: PageArgs,
  context: Context,
): ScanRequest<Row> {
  if (offset != null) throw new InputError("offset: expected none where the gateway scans the list");
  const folded = foldedRows.get(context) ?? new WeakMap();
  foldedRows.set(context, folded);
  return {
    maxRows: context.gateway.maxScannedRows,
    find: (rows) => {
      context.onScan?.(compared, rows.length);
      return context.runCooperatively(findMatching(rows, isMatch, folded));
    },
  };
}

/** Reads a list from its start until its end, until `most` rows are read, or until the operation reaches a limit. `find` selects rows. */
export async function readEntireList<At, Item extends object>(
  { session, gateway: { maxPageSize: maxSize } }: Context,
  list: List<At, Item>,
  most: number,
  find: ScanRequest<Item>["find"] | null = null,
): Promise<Omit<WholeList<unknown, Item>, "nodeAt">> {
  const pages = new PageIterator(list, START, maxSize);
  const rows: Item[] = [];
  let [read, total, isCut]: [number, number | null, boolean] = [0, null, false];
  do {
    const next = await pages.next(session, Math.min(maxSize, most - read)).catch((error: unknown) => {
      // If the operation reaches a limit, the rows that were read are the result.
      if (read > 0 && isGatewayError(error, "REQUEST_LIMIT_EXCEEDED", "PAGE_LIMIT_REACHED")) return null;
      throw error;
    });
    if (!next) return { records: rows, scannedRows: read, total, isComplete: false };
    if (!find) total ??= next.page.count ?? null;
    // The upstream service may return more rows than requested.
    const given = next.rest.slice(0, most - read);
    for (const index of find ? await find(given) : given.keys()) {
      const row = given[index];
      if (row) rows.push(row);
    }
    read += given.length;
    isCut = given.length < next.rest.length;
  } while (read < most && !pages.isDone());
  const isComplete = pages.isDone() && !isCut;
  return { records: rows, scannedRows: read, total: total ?? (isComplete ? rows.length : null), isComplete };
}

/* Conditions that the query language of servers cannot express. The gateway tests them. */

/** The test for each bound of a filter. */
const BOUNDS = {
  greaterThan: (value: number, bound: number) => value > bound,
  atLeast: (value: number, bound: number) => value >= bound,
  lessThan: (value: number, bound: number) => value < bound,
  atMost: (value: number, bound: number) => value <= bound,
};

type Bounds = { readonly [Name in keyof typeof BOUNDS]?: number | null | undefined };

export function boundConditions(
  named: Pick<Condition, "argument" | "key" | "name">,
  bounds: Bounds,
): readonly Condition[] {
  const { argument } = named;
  const { greaterThan, atLeast, lessThan, atMost } = bounds;
  const lower = Math.max(greaterThan ?? -Infinity, atLeast ?? -Infinity);
  const upper = Math.min(lessThan ?? Infinity, atMost ?? Infinity);
  const isOpen = greaterThan === lower || lessThan === upper;
  // Safe: these are the keys of the table.
  const operators = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];
  const conditions = operators.flatMap((operator): readonly Condition[] => {
    const { [operator]: bound } = bounds;
    if (bound == null) return [];
    if (Number.isFinite(bound)) return [{ ...named, operator, operands: [`${bound}`] }];
    throw new InputError(`${argument}.${operator}: expected a finite number, got ${bound}`);
  });
  if (lower > upper || (lower === upper && isOpen))
    throw new InputError(`${argument}: expected bounds that a number can satisfy, got ${lower} to ${upper}`);
  return conditions;
}

/** The row key from which the gateway tests each kind of condition. Only the server can test a condition without a row key. */
const ROW_KEYS: { readonly [Key in Condition["key"]]?: string } = {
  name: "name",
  status: "last_status",
  tags: "tags",
  user: "user",
  metric: "last_metric",
  parameter: "declarations",
  createdAt: "created_at",
  updatedAt: "updated_at",
  startedAt: "started_at",
  finishedAt: "finished_at",
};

/** Converts a value to the number that is compared with bounds: a time to milliseconds. Null if the value is neither. */
function measureOf(key: Condition["key"], value: unknown): number | null {
  const isTime = ROW_KEYS[key]?.endsWith("_at") ?? false;
  return finite(isTime && typeof value === "string" ? millisecondsOf(value) : value);
}

/**
 * Returns the conditions that the gateway must test, because the server's query language cannot express them. Throws `GatewayError` if list
 * items of this server lack the keys, and `InputError` if the conditions are too long.
 */
export function comparedOf(
  conditions: readonly Condition[],
  server: Server,
  record: string,
): readonly Condition[] {
  const compared = conditions.filter((condition) => ROW_KEYS[condition.key] && !isSayable(condition));
  if (compared.length > 0 && server.profile.filters.language === null)
    throw notOffered("the argument `filter`", "FILTERS");
  const missing = compared.find(({ key }) => !isInRows(server, record, ROW_KEYS[key] ?? ""));
  if (missing) throw notOffered(`\`${missing.argument}\` with what it cannot find by itself`);
  const texts = compared.flatMap(({ name = "", operands }) => [name, ...operands]);
  checkLength("filter", texts.join(""), "characters that the server cannot filter by");
  return compared;
}

/** Returns a test that passes if a row meets all conditions; null without conditions. */
export function conditionTest(conditions: readonly Condition[]): IsMatch | null {
  const setOf = createSetOf();
  const tests = conditions.map((condition) => testOf(condition, setOf));
  if (tests.length === 0) return null;
  return function* (row) {
    for (const isMet of tests) {
      if (!isMet(row)) return false;
      yield;
    }
    return true;
  };
}

/**
 * Returns a function that creates the set of a list's items. The function caches its last set, because many conditions may test the tags of
 * one row.
 */
function createSetOf(): (values: readonly unknown[]) => ReadonlySet<unknown> {
  let [last, set]: [readonly unknown[] | null, ReadonlySet<unknown>] = [null, new Set()];
  return (values) => {
    if (values !== last) [last, set] = [values, new Set(values)];
    return set;
  };
}

function testOf({ key, name, operator, operands }: Condition, setOf: ReturnType<typeof createSetOf>) {
  const isMet =
    operator === "anyOf" || operator === "noneOf"
      ? isOneOf(key, operands)
      : isWithin(key, operator, operands);
  return (row: object): boolean => {
    const value = valueOf(row, ROW_KEYS[key] ?? "");
    const found = name === undefined ? value : valueAt(value, name);
    const isFound =
      name === undefined && Array.isArray(found)
        ? operands.some((each) => setOf(found).has(each))
        : found !== undefined && isMet(found);
    return isFound !== (operator === "noneOf");
  };
}

function isOneOf(key: Condition["key"], operands: readonly string[]) {
  const wanted = new Set<unknown>(operands);
  const meanings = new Set(
    operands.flatMap((operand) => {
      const meaning = key === "parameter" ? meaningOf(operand) : undefined;
      return meaning === undefined ? [] : (textOf(meaning) ?? []);
    }),
  );
  return (value: unknown): boolean =>
    wanted.has(value) || (meanings.size > 0 && meanings.has(textOf(value) ?? ""));
}

/** Returns the JSON of a value with sorted keys; null if it is longer than a filter may be. */
function textOf(value: unknown): string | null {
  let left = MAX_QUERY_LENGTH;
  const take = (count: number): boolean => (left -= count + 1) >= 0;
  const write = (each: unknown): string => {
    if (Array.isArray(each)) return take(each.length) ? `[${each.map(write).join()}]` : "";
    if (typeof each === "string") return take(each.length) ? JSON.stringify(each) : "";
    if (!isInner(each)) return typeof each === "number" ? `${each}` : JSON.stringify(each);
    const keys = Object.keys(each);
    if (!take(keys.length) || !keys.every((key) => take(key.length))) return "";
    return `{${keys
      .toSorted()
      .map((key) => `${JSON.stringify(key)}:${write(each[key])}`)
      .join()}}`;
  };
  const text = write(value);
  return left < 0 ? null : text;
}

const isWithin =
  (key: Condition["key"], operator: keyof typeof BOUNDS, [bound]: readonly string[]) =>
  (value: unknown) =>
    BOUNDS[operator](measureOf(key, value) ?? Number.NaN, Number(bound));
