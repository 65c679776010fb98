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
import type { Steps } from "../core/steps.ts";
import { finite } from "./series.ts";

/* Scans: the gateway tests the rows of a list itself if the server cannot apply a filter. */

/** Long strings of rows in folded form, for searches by words. Each string is folded once for all fields of an operation. */
export type FoldedRows = WeakMap<object, readonly string[]>;

/** Tests a row in steps, because its values may be long. */
export type IsMatch = (row: object, folded?: FoldedRows) => Steps<boolean>;

/** Combines two tests: a row must match both; null if both are null. */
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
): Steps<readonly number[]> {
  const found: number[] = [];
  for (const [index, row] of rows.entries()) {
    yield;
    if (yield* isMatch(row, folded)) found.push(index);
  }
  return found;
}

export const isInRows = (server: Server, record: string, key: string): boolean =>
  !server.omits(record, key) && !server.profile.omittedInLists[record]?.includes(key);

/** The value of a row for a test. Throws `GatewayError` for a row without the key. */
export function valueOf(row: object, key: string): unknown {
  // Safe: any object has properties by name.
  if (key in row) return (row as Record<string, unknown>)[key];
  throw new GatewayError("UPSTREAM_BAD_RESPONSE", `A row of the service's list lacks \`${key}\`.`);
}

const foldedRows = new WeakMap<Context, FoldedRows>();

/**
 * Creates a scan that finds matching rows in time slices, and reports the compared arguments to the trace. Throws `InputError` for an
 * offset, which a scan does not support.
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

/** Reads a list from its beginning until `most` rows are read, or the operation reaches one of its limits. */
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
      // A limit of the operation ends the list early. It is not an error.
      if (read > 0 && isGatewayError(error, "REQUEST_LIMIT_EXCEEDED", "PAGE_LIMIT_REACHED")) return null;
      throw error;
    });
    if (!next) return { records: rows, scannedRows: read, total, isComplete: false };
    if (!find) total ??= next.page.count ?? null;
    // The upstream service may send more rows than requested.
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

/* Conditions that the query language of servers cannot express, so that the gateway tests them. */

/** Tests whether a value is within a bound, by the name that the bound has in filters. */
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
    throw new InputError(`${argument}: expected bounds that a number can meet, got ${lower} to ${upper}`);
  return conditions;
}

/** The keys of rows that the gateway needs to test conditions which servers may not support. */
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

/** Converts a value to the number that is compared with bounds. A time becomes milliseconds. Null if the value is not a number. */
function measureOf(key: Condition["key"], value: unknown): number | null {
  const isTime = ROW_KEYS[key]?.endsWith("_at") ?? false;
  return finite(isTime && typeof value === "string" ? millisecondsOf(value) : value);
}

/**
 * Returns the conditions that the server's query language cannot express, so the gateway must test them. Throws `GatewayError` if the rows
 * of this server's lists lack the keys, and `InputError` if the conditions are too long.
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

/** Returns a test whether a row meets all conditions; null without conditions. */
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
 * Returns a function that creates the set of a list's values. It remembers the last set, because many conditions may test the tags of one
 * row.
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

/** Canonical JSON of a value, which does not depend on the order of keys. Null if the JSON is longer than a filter may be. */
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
