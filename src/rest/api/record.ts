import { GatewayError, ResponseTooLargeError } from "../../errors.ts";

/*
 * The checks of single values. They convert nothing: a record whose known keys all pass is used as received, without a copy. Documented
 * keys may be absent or null unless specified otherwise.
 */

/** Whether a value has the documented type of its key. */
export interface Check<Value> {
  (value: unknown): value is Value;
  /** A type of JavaScript whose values all pass, which avoids calling the check. */
  readonly passes?: Typeof;
}

type Typeof = "string" | "boolean";

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const mapped = <Name extends string, Row, Result>(
  table: Readonly<Record<Name, Row>>,
  replace: (row: Row, name: Name) => Result,
) =>
  // Safe: the names are those of the table.
  Object.fromEntries(
    (Object.keys(table) as Name[]).map((name) => [name, replace(table[name], name)]),
  ) as Readonly<Record<Name, Result>>;

/** Raw JSON, which Node.js supports since release 21. */
export const { rawJSON, isRawJSON } = JSON as {
  readonly rawJSON?: (json: string) => object;
  readonly isRawJSON?: (value: unknown) => value is { readonly rawJSON: string };
};

/** Whether a value contains other values. An integer that is stored as its digits does not. */
export const isInner = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && !isRawJSON?.(value);

const isString = (value: unknown) => typeof value === "string";

const passing = <Value>(passes: Typeof, check: (value: unknown) => value is Value): Check<Value> =>
  Object.assign(check, { passes });

export const id = (value: unknown): value is number => Number.isSafeInteger(value);
export const requiredText = isString;
export const nonEmptyText = (value: unknown): value is string => typeof value === "string" && value !== "";
export const text = passing("string", (value: unknown) => typeof value === "string" || value == null);
/** A 32-bit integer, as GraphQL's Int. */
export const integer = (value: unknown): value is number | null | undefined =>
  value == null || (typeof value === "number" && value === (value | 0));
export const number = (value: unknown): value is number | null | undefined =>
  value == null || Number.isFinite(value);
export const flag = passing("boolean", (value: unknown) => typeof value === "boolean" || value == null);
/** An ISO 8601 string as received, because a `Date` would lose microseconds and offset. */
export const timestamp = passing("string", (value: unknown) => typeof value === "string" || value == null);

/** Maximum length of a timestamp, in characters. */
const MAX_TIME_LENGTH = 100;

/** Milliseconds since 1970 of a timestamp; NaN if it is invalid. Without an offset it is UTC, not in the gateway's time zone. */
export const millisecondsOf = (time: string): number =>
  time.length > MAX_TIME_LENGTH
    ? Number.NaN
    : Date.parse(/^\d{4}-\d\d-\d\d[T ][\d:.]+$/.test(time) ? `${time}Z` : time);
/** A value whose type the document does not define: any JSON. */
export const unstated = (value: unknown): value is unknown => typeof value !== "function";
export const object = (value: unknown): value is Readonly<Record<string, unknown>> | null | undefined =>
  value == null || isObject(value);
export const textOrObject = (
  value: unknown,
): value is string | Readonly<Record<string, unknown>> | null | undefined => text(value) || isObject(value);
/** Maximum length of a list of records. */
export const MAX_RECORDS = 100_000;

/** Whether a value is a list of such items. Throws `ResponseTooLargeError` if the list exceeds the maximum length. */
function isListOf(isItem: (item: unknown) => boolean, value: unknown): value is readonly unknown[] {
  if (!Array.isArray(value)) return false;
  if (value.length > MAX_RECORDS) throw new ResponseTooLargeError(MAX_RECORDS, "items");
  return value.every(isItem);
}

/** A list of records, which are read one by one. */
export const requiredRecords = (value: unknown): value is readonly unknown[] => isListOf(isObject, value);
export const records = (value: unknown): value is readonly unknown[] | null | undefined =>
  value == null || requiredRecords(value);

export const texts = (value: unknown): value is readonly string[] | null | undefined =>
  value == null || (Array.isArray(value) && value.every(isString));

export type FileEntry = readonly [name: string, bytes?: number | null];

const isFile = (value: unknown): boolean => {
  if (!Array.isArray(value)) return false;
  const [name, bytes] = value as readonly unknown[];
  return typeof name === "string" && (bytes == null || (Number.isSafeInteger(bytes) && Number(bytes) >= 0));
};

export const files = (value: unknown): value is readonly FileEntry[] | null | undefined =>
  value == null || isListOf(isFile, value);

/** An object of named values. Names such as `__proto__` come from users: only own keys may be read. */
export type ByName = Readonly<Record<string, unknown>>;

/** Maximum keys of one object of named values. Runs have some dozens. */
export const MAX_ENTRY_NAMES = 10_000;

export function byName(value: unknown): value is ByName | null | undefined {
  if (value == null) return true;
  if (!isObject(value)) return false;
  let names = 0;
  for (const _ in value) if (++names > MAX_ENTRY_NAMES) return false;
  return true;
}

/** Maximum levels of objects whose values have names of their own. A deeper object is itself the value of its name. */
const MAX_LEVELS = 8;

/** Maximum length of the name of a value in an inner object. */
const MAX_PATH = 500;

/** Maximum characters of the keys that are looked up for one value: a name of eight keys of ten characters needs 1,300. */
const MAX_LOOKUP_CHARACTERS = 4_000;

/**
 * The value that an object has under a name: that of the key with this name, otherwise the one to which the dots lead through inner
 * objects. If several paths exist, the one with the longest first key counts. Undefined if there is none, which JSON cannot contain.
 */
export function valueAt(values: unknown, name: string): unknown {
  if (!isObject(values)) return undefined;
  if (Object.hasOwn(values, name)) return values[name];
  if (name.length > MAX_PATH || !name.includes(".")) return undefined;
  return valueBelow(values, name, 2, { characters: MAX_LOOKUP_CHARACTERS });
}

/** Splits the name at its dots: the work depends on the name alone, however many keys the object has. */
function valueBelow(values: ByName, name: string, level: number, left: { characters: number }): unknown {
  for (let dot = name.lastIndexOf("."); dot >= 0; dot = dot > 0 ? name.lastIndexOf(".", dot - 1) : -1) {
    left.characters -= dot;
    if (left.characters < 0) return undefined;
    const key = name.slice(0, dot);
    const inner = Object.hasOwn(values, key) ? values[key] : null;
    if (!isInner(inner)) continue;
    const rest = name.slice(dot + 1);
    if (Object.hasOwn(inner, rest)) return inner[rest];
    const found = level < MAX_LEVELS ? valueBelow(inner, rest, level + 1, left) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An object whose values are listed. */
interface OpenObject {
  readonly values: ByName;
  readonly keys: readonly string[];
  /** The prefix of the names of its values. */
  readonly prefix: string;
  /** The objects around it that have keys with dots, which may be the name of a value further below. */
  readonly around: readonly OpenObject[];
  readonly hasDots: boolean;
  next: number;
}

function openObject(values: ByName, prefix = "", outer: OpenObject | null = null): OpenObject {
  const own = Object.keys(values);
  const dotted = own.filter((key) => key.includes("."));
  const ways = dotted.filter((key) => isInner(values[key])).toSorted((a, b) => b.length - a.length);
  const keys = ways.length === 0 ? own : [...new Set([...ways, ...own])];
  const around = outer?.hasDots ? [...outer.around, outer] : (outer?.around ?? []);
  return { values, keys, prefix, around, hasDots: dotted.length > 0, next: 0 };
}

/**
 * The values of an object and of its inner objects, down to eight levels, by the names under which `valueAt` finds them. Empty if it is not
 * an object. A name that two paths have occurs twice, and the first one counts.
 */
export function* entriesOf(values: unknown): Generator<[string, unknown]> {
  const open = isObject(values) ? [openObject(values)] : [];
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const key = last.keys[last.next++];
    if (key === undefined) {
      open.pop();
      continue;
    }
    const name = last.prefix + key;
    const value = last.values[key];
    if (open.length > 1 && name.length > MAX_PATH) continue;
    const inner = open.length < MAX_LEVELS && isInner(value) ? openObject(value, `${name}.`, last) : null;
    if (inner && inner.keys.length > 0) open.push(inner);
    else if (!last.around.some((each) => Object.hasOwn(each.values, name.slice(each.prefix.length))))
      yield [name, value];
  }
}

/** The documented keys of a record and the check of each. A table in a table is an object that may be absent or null. */
export interface Table {
  readonly [key: string]: Check<unknown> | Table;
}

type ValueOf<Entry> =
  Entry extends Check<infer Value> ? Value : Entry extends Table ? RecordOf<Entry> | null | undefined : never;

type OptionalKey<Keys> = {
  [Key in keyof Keys]: undefined extends ValueOf<Keys[Key]> ? Key : never;
}[keyof Keys];

/** The records that a table describes. Keys whose value may be undefined may be absent. */
export type RecordOf<Keys> = {
  readonly [Key in Exclude<keyof Keys, OptionalKey<Keys>>]: ValueOf<Keys[Key]>;
} & { readonly [Key in OptionalKey<Keys>]?: ValueOf<Keys[Key]> };

// Safe: a table is a literal without other keys than those of its type.
export const keysOf = <Keys extends Table>(table: Keys) => Object.keys(table) as (keyof Keys & string)[];

/**
 * Reads a record. If all values fit and it has no more keys than usual, it is returned as received, without a copy; otherwise it is read
 * key by key. A value of the wrong type reads as null and its path is added to `mismatches`. Returns null for a value that is not an
 * object, and for a record in which a wrong value may not be null: the last mismatch is the cause.
 */
export type RecordDecoder<Record> = (
  value: unknown,
  mismatches: string[],
  parent?: string,
  key?: string | number,
) => Record | null;

/** Creates the reader of a record. `convert` converts records, and returns those unchanged that need no conversion. */
export function recordOf<Keys extends Table>(
  table: Keys,
  convert?: (record: RecordOf<Keys>) => RecordOf<Keys>,
): RecordDecoder<RecordOf<Keys>> {
  const fields = fieldsOf(table);
  return (value, mismatches, parent = "", key = "") => {
    const read =
      fit(fields, value) && !isWide(value)
        ? value
        : readFields(fields, value, mismatches, joinPath(parent, key));
    // Safe: each value has passed its check, or is a null that the check allows.
    const record = read as RecordOf<Keys> | null;
    return record && convert ? convert(record) : record;
  };
}

interface Field {
  readonly key: string;
  readonly check: Check<unknown>;
  /** Whether the check accepts null and an absent value. */
  readonly isNullable: boolean;
  /** The type whose values all pass; empty if there is none. */
  readonly passes: Typeof | "";
  /** The fields of an object; null for other values. */
  readonly inner: readonly Field[] | null;
}

const fieldsOf = (table: Table): readonly Field[] =>
  Object.entries(table).map(([key, entry]) => {
    if (typeof entry === "function")
      return { key, check: entry, isNullable: entry(null), passes: entry.passes ?? "", inner: null };
    const inner = fieldsOf(entry);
    const check = (value: unknown): value is unknown => value == null || fit(inner, value);
    return { key, check, isNullable: true, passes: "", inner };
  });

function fit(fields: readonly Field[], value: unknown): boolean {
  if (!isObject(value)) return false;
  for (const { key, check, isNullable, passes } of fields) {
    const received = value[key];
    // Most values need no call.
    if (received == null ? !isNullable : typeof received !== passes && !check(received)) return false;
  }
  return true;
}

/** Maximum keys of a record that is used as received. Records of known servers have some dozens. */
const MAX_SCANNED_KEYS = 1_000;

/** Whether a record has too many keys to be copied once for each field that adds one. */
function isWide(value: unknown): boolean {
  let keys = 0;
  for (const _ in value as object) if (++keys > MAX_SCANNED_KEYS) return true;
  return false;
}

/** The keys of a record whose values had an undocumented type and read as null. Copies of the record have them as well. */
const MISMATCHES = Symbol("mismatches");

/** Whether the null of a key replaces a value of an undocumented type. */
export const isMismatch = (record: object, key: string): boolean =>
  MISMATCHES in record && Array.isArray(record[MISMATCHES]) && record[MISMATCHES].includes(key);

function readFields(
  fields: readonly Field[],
  value: unknown,
  mismatches: string[],
  path: string,
): Record<string, unknown> | null {
  if (!isObject(value)) return addMismatch(mismatches, path);
  const known: Record<string, unknown> & { [MISMATCHES]?: string[] } = {};
  for (const { key, check, isNullable, inner } of fields) {
    const received = value[key];
    if (check(received)) {
      if (key in value) known[key] = received;
      continue;
    }
    const at = joinPath(path, key);
    const read = inner ? readFields(inner, received, mismatches, at) : addMismatch(mismatches, at);
    if (read === null && !isNullable) return null;
    known[key] = read;
    if (read === null) (known[MISMATCHES] ??= []).push(key);
  }
  return known;
}

export const joinPath = (parent: string, key: string | number) =>
  parent === "" ? `${key}` : `${parent}.${key}`;

/** Maximum mismatches of one response. A response with more is rejected. */
const MAX_MISMATCHES = 1_000;

function addMismatch(mismatches: string[], path: string): null {
  mismatches.push(path);
  if (mismatches.length > MAX_MISMATCHES) throw unusable(mismatches[0] ?? path);
  return null;
}

/** The error of a response that is unusable because of the value at a path. */
export const unusable = (path: string) =>
  new GatewayError(
    "UPSTREAM_BAD_RESPONSE",
    path === ""
      ? "Expected a JSON object from the service, got something else."
      : `The service's answer cannot be used: ${path} is missing or of another type than documented.`,
  );

/** A response that was read. `mismatches` are the paths of values that read as null, such as `results.3.started_at`. */
export interface Reading<out Answer> {
  readonly answer: Answer;
  readonly mismatches: string[];
}

/** Reads a whole response. Throws `GatewayError` when it is unreadable. Does not modify the body. */
export function decode<Record>(read: RecordDecoder<Record>, body: unknown): Reading<Record> {
  const mismatches: string[] = [];
  const answer = read(body, mismatches);
  if (answer === null) throw unusable(mismatches.at(-1) ?? "");
  return { answer, mismatches };
}
