import { InputError, GatewayError, isGatewayError } from "../../errors.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import {
  checkLength,
  type Condition,
  isSayable,
  MAX_QUERY_LENGTH,
  meaningOf,
} from "../../rest/api/list-query.ts";
import { isInner, valueAt } from "../../rest/api/record.ts";
import type { Server } from "../../rest/api/server.ts";
import { readSlice, type SliceRequest, PageIterator } from "../../rest/session/pagination.ts";
import { START } from "../../rest/session/list-position.ts";
import type { Session } from "../../rest/session/session.ts";
import type { List } from "../../rest/session/page-reader.ts";
import { connect, type Connection, type PageArgs, type WholeList } from "../core/connection.ts";
import type { Context, Steps } from "../core/context.ts";
import { finite } from "./series.ts";

/* Scans: the gateway compares the rows of a list itself where the server cannot filter. */

/** Long texts of rows as a search by words compares them, so that those of a row are folded once for all fields of an operation. */
type FoldedRows = WeakMap<object, readonly string[]>;

/** Tests a row in steps: its values may be long. */
export type IsMatch = (row: object, folded?: FoldedRows) => Steps<boolean>;

/** Whether a row matches both; null where there is nothing to look for. */
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

/** The value of a row that is compared. Throws `GatewayError` for a row without the key. */
export function valueOf(row: object, key: string): unknown {
  // Safe: any object has properties by name.
  if (key in row) return (row as Record<string, unknown>)[key];
  throw new GatewayError("UPSTREAM_BAD_RESPONSE", `A row of the service's list lacks \`${key}\`.`);
}

const foldedRows = new WeakMap<Context, FoldedRows>();

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
  const folded = foldedRows.get(context) ?? new WeakMap();
  foldedRows.set(context, folded);
  return (rows) => {
    context.onScan?.(compared, rows.length);
    return context.runCooperatively(findMatching(rows, isMatch, folded));
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
  const page = await readSlice(session, list, request, scanning);
  if (!find) see?.(page.items);
  return connect(page, toNode);
}

/** Reads a list from its beginning until `most` rows are read, or the operation may read no more. */
export async function readWhole<At, Item extends object>(
  session: Session,
  list: List<At, Item>,
  { most, maxSize, find }: Pick<PageRequest<Item>, "maxSize" | "find"> & { readonly most: number },
): Promise<Omit<WholeList<unknown, Item>, "nodeAt">> {
  const pages = new PageIterator(list, START, maxSize);
  const rows: Item[] = [];
  let [read, total]: [number, number | null] = [0, null];
  do {
    const next = await pages.next(session, Math.min(maxSize, most - read)).catch((error: unknown) => {
      // The limits of the operation are no failure of the service.
      if (read > 0 && isGatewayError(error, "REQUEST_LIMIT_EXCEEDED", "PAGE_LIMIT_REACHED")) return null;
      throw error;
    });
    if (!next) return { records: rows, total, isComplete: false };
    if (!find) total ??= next.page.count ?? null;
    // A service may send more rows than were requested.
    const given = next.rest.slice(0, most - read);
    for (const index of find ? await find(given) : given.keys()) {
      const row = given[index];
      if (row) rows.push(row);
    }
    read += next.rest.length;
  } while (read < most && !pages.isDone());
  const isComplete = pages.isDone() && read <= most;
  return { records: rows, total: total ?? (isComplete ? rows.length : null), isComplete };
}

/* Filters that the gateway compares itself, with the rows of a list: what the language of servers cannot say. */

/** Bounds of a number, each by its name in filters: whether a value is within it. */
const BOUNDS = {
  greaterThan: (value: number, bound: number) => value > bound,
  atLeast: (value: number, bound: number) => value >= bound,
  lessThan: (value: number, bound: number) => value < bound,
  atMost: (value: number, bound: number) => value <= bound,
};

type FixedLimits = { readonly [Name in keyof typeof BOUNDS]?: number | null | undefined };

export function boundConditions(
  named: Pick<Condition, "argument" | "key" | "name">,
  bounds: FixedLimits,
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

/** The keys of rows for conditions that servers may not support. */
const ROW_KEYS: { readonly [Key in Condition["key"]]?: string } = {
  name: "name",
  status: "last_status",
  tags: "tags",
  user: "user",
  metric: "last_metric",
  declaration: "declarations",
};

/**
 * Finds the conditions that the server's language cannot say, so that the gateway compares the rows with them. Throws
 * `GatewayError` where the rows of this server's lists lack the keys, and `InputError` when they are too long.
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

/** Whether a row meets all conditions; null without one. */
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

/** The values of a list. It remembers the last ones: many conditions may be about the tags of a row. */
function createSetOf(): (values: readonly unknown[]) => ReadonlySet<unknown> {
  let [last, set]: [readonly unknown[] | null, ReadonlySet<unknown>] = [null, new Set()];
  return (values) => {
    if (values !== last) [last, set] = [values, new Set(values)];
    return set;
  };
}

function testOf({ key, name, operator, operands }: Condition, setOf: ReturnType<typeof createSetOf>) {
  const isMet =
    operator === "anyOf" || operator === "noneOf" ? isOneOf(key, operands) : isWithin(operator, operands);
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
      const meaning = key === "declaration" ? meaningOf(operand) : undefined;
      return meaning === undefined ? [] : (textOf(meaning) ?? []);
    }),
  );
  return (value: unknown): boolean =>
    wanted.has(value) || (meanings.size > 0 && meanings.has(textOf(value) ?? ""));
}

/** JSON of a value, the same for any order of its keys; null if it is longer than a filter. */
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
  (operator: keyof typeof BOUNDS, [bound]: readonly string[]) =>
  (value: unknown) =>
    BOUNDS[operator](finite(value) ?? Number.NaN, Number(bound));

/* By words. Servers search no texts, so the gateway looks for the words in the rows of a list. */

const MAX_WORDS_LENGTH = 200;

/** Combining marks in a row, of which more are left out: sorting them takes the square of their number (UAX #15, stream-safe text). */
const EXCESS_MARKS = /(\p{M}{30})\p{M}+/gu;

/** Characters of a text that are looked at. */
const MAX_TEXT = 20_000;

/** Characters that are normalized at a time, and of the result: some characters become eighteen. */
const NORMALIZED_LENGTH = 1_000;
const MAX_FOLDED = 3 * MAX_TEXT;

/** Gives letters that mean the same in a search one spelling. */
function fold(text: string): string {
  const rest = text.slice(0, MAX_TEXT).replace(EXCESS_MARKS, "$1");
  let folded = "";
  for (let from = 0; from < rest.length && folded.length < MAX_FOLDED;) {
    let to = from + NORMALIZED_LENGTH;
    // Marks stay with their letter.
    while (to < rest.length && /^[\p{M}\p{Cs}]/u.test(rest.slice(to, to + 2))) to++;
    folded += rest.slice(from, to).normalize("NFKC").toLowerCase();
    from = to;
  }
  return folded;
}

export const WORDS_DESCRIPTION = `Words, in any case, that all occur in name, description or tags (of each the first ${MAX_TEXT} characters). Found by a scan: see \`ListScan\`.`;

/** Whether a row has each of the words in what people write about runs; null without words. Throws `InputError`. */
export function wordsTest(text: string | null | undefined, argument: string): IsMatch | null {
  if (text == null) return null;
  if (text.length > MAX_WORDS_LENGTH)
    throw new InputError(`${argument}: expected at most ${MAX_WORDS_LENGTH} characters, got ${text.length}`);
  const words = [...new Set(fold(text).split(/\s+/u))].filter(Boolean);
  if (words.length === 0) throw new InputError(`${argument}: expected at least one word, got none`);
  return function* (row, folded) {
    const texts = folded?.get(row) ?? (yield* foldedTextsOf(row, folded));
    for (const word of words) {
      if (!texts.some((each) => each.includes(word))) return false;
      yield;
    }
    return true;
  };
}

/** Characters of the texts of a row from which on they are kept: to fold shorter ones again takes less than to keep them. */
const MIN_KEPT = 1_000;

function* foldedTextsOf(row: object, folded?: FoldedRows): Steps<readonly string[]> {
  // Safe: any object has properties by name.
  const { name, description, tags } = row as Readonly<Record<string, unknown>>;
  const texts: string[] = [];
  let characters = 0;
  for (const each of [name, description, joined(tags)]) {
    if (typeof each !== "string") continue;
    const text = fold(each);
    texts.push(text);
    characters += text.length;
    yield;
  }
  if (characters < MIN_KEPT) return texts;
  folded?.set(row, texts);
  // A character takes two bytes at most, as much as a charged byte stands for.
  yield folded && characters;
  return texts;
}

/** The first tags as one text, as far as that is looked at: no word is in two of them. */
function joined(tags: unknown): string {
  let text = "";
  for (const tag of Array.isArray(tags) ? tags : []) {
    if (typeof tag === "string") text += `${tag}\n`;
    if (text.length >= MAX_TEXT) break;
  }
  return text;
}
