import { GatewayError, ResponseTooLargeError } from "../../errors.ts";

/*
 * The checks of single values. They convert nothing: a record whose known keys all pass is used as received, without a copy. Unless
 * specified otherwise, a check also accepts a key that is absent or null.
 */

/** Whether a value has the documented type of its key. */
export interface Check<Value> {
  (value: unknown): value is Value;
  /** A JavaScript type whose values all pass, so that the check need not be called for them. */
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

/** Raw JSON; undefined before Node.js 21. */
export const { rawJSON, isRawJSON } = JSON as {
  readonly rawJSON?: (json: string) => object;
  readonly isRawJSON?: (value: unknown) => value is { readonly rawJSON: string };
};

/** Whether a value contains other values. An integer that is stored as raw JSON does not. */
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

/** Parses a timestamp into milliseconds since 1970; NaN if it is invalid. A timestamp without an offset is taken as UTC. */
export const millisecondsOf = (time: string): number =>
  time.length > MAX_TIME_LENGTH
    ? Number.NaN
    : Date.parse(/^\d{4}-\d\d-\d\d[T ][\d:.]+$/.test(time) ? `${time}Z` : time);
/** Accepts any JSON, for a value whose type the service's document does not define. */
export const unstated = (value: unknown): value is unknown => typeof value !== "function";
export const object = (value: unknown): value is Readonly<Record<string, unknown>> | null | undefined =>
  value == null || isObject(value);
export const textOrObject = (
  value: unknown,
): value is string | Readonly<Record<string, unknown>> | null | undefined => text(value) || isObject(value);
/** Maximum length of a list of records. */
export const MAX_RECORDS = 100_000;

/** Whether a value is a list whose items all pass a check. Throws `ResponseTooLargeError` if the list exceeds the maximum length. */
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

/** An object of named values. Names come from users and may be `__proto__`, so only own keys may be read. */
export type ByName = Readonly<Record<string, unknown>>;

/** Maximum keys of one object of named values. A typical run has a few dozen. */
export const MAX_ENTRY_NAMES = 10_000;

export function byName(value: unknown): value is ByName | null | undefined {
  if (value == null) return true;
  if (!isObject(value)) return false;
  let names = 0;
  for (const _ in value) if (++names > MAX_ENTRY_NAMES) return false;
  return true;
}

/** Maximum depth at which values are listed under their own names. A deeper object counts as one value. */
const MAX_LEVELS = 8;

/** Maximum length of the name of a value in an inner object. */
const MAX_PATH = 500;

/** Maximum total length of the keys that are looked up for one value, in characters. A name of eight keys of ten characters needs 1,300. */
const MAX_LOOKUP_CHARACTERS = 4_000;

/**
 * The value that an object has under a name; undefined if there is none. A key with exactly this name comes first. Otherwise the dots in
 * the name lead through inner objects. If several paths match, the path with the longest first key counts.
 */
export function valueAt(values: unknown, name: string): unknown {
  if (!isObject(values)) return undefined;
  if (Object.hasOwn(values, name)) return values[name];
  if (name.length > MAX_PATH || !name.includes(".")) return undefined;
  return valueBelow(values, name, 2, { characters: MAX_LOOKUP_CHARACTERS });
}

/** Splits the name at its dots. The work depends only on the name, not on the number of keys of the object. */
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

/** An object that `entriesOf` is currently walking through. */
interface OpenObject {
  readonly values: ByName;
  readonly keys: readonly string[];
  /** The prefix of the names of its values. */
  readonly prefix: string;
  /** The enclosing objects that have keys with dots. Such a key may equal the name of a value in this object. */
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
 * Yields the values of an object and of its inner objects, down to eight levels, with the names under which `valueAt` finds them. Yields
 * nothing for a value that is not an object. If two paths have the same name, it occurs twice, and the first one counts.
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

/** The documented keys of a record, each with its check. An inner table describes an object that may be absent or null. */
export interface Table {
  readonly [key: string]: Check<unknown> | Table;
}

type ValueOf<Entry> =
  Entry extends Check<infer Value> ? Value : Entry extends Table ? RecordOf<Entry> | null | undefined : never;

type OptionalKey<Keys> = {
  [Key in keyof Keys]: undefined extends ValueOf<Keys[Key]> ? Key : never;
}[keyof Keys];

/** The type of the records that a table describes. A key may be absent if its check accepts undefined. */
export type RecordOf<Keys> = {
  readonly [Key in Exclude<keyof Keys, OptionalKey<Keys>>]: ValueOf<Keys[Key]>;
} & { readonly [Key in OptionalKey<Keys>]?: ValueOf<Keys[Key]> };

// Safe: a table is a literal, so it has only the keys of its type.
export const keysOf = <Keys extends Table>(table: Keys) => Object.keys(table) as (keyof Keys & string)[];

/**
 * Reads a record. Returns it as received if all values fit and it has a usual number of keys. Otherwise copies it: a value of the wrong
 * type is replaced with null, and its path is added to `mismatches`. Returns null for a value that is not an object, and for a record with
 * a wrong value that may not be null. The last mismatch is then the cause.
 */
export type RecordDecoder<Record> = (
  value: unknown,
  mismatches: string[],
  parent?: string,
  key?: string | number,
) => Record | null;

/** Creates the reader of a record. `convert` converts a record, or returns it unchanged if it needs no conversion. */
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
    // The comparison of types avoids a call for most values.
    if (received == null ? !isNullable : typeof received !== passes && !check(received)) return false;
  }
  return true;
}

/** Maximum keys of a record that is used as received. Records of known servers have a few dozen. */
const MAX_SCANNED_KEYS = 1_000;

/** Whether a record has too many keys to be used as received. Fields that add a key would copy all of them. */
function isWide(value: unknown): boolean {
  let keys = 0;
  for (const _ in value as object) if (++keys > MAX_SCANNED_KEYS) return true;
  return false;
}

/** The keys of a record whose values of an undocumented type were replaced with null. Copies of the record have this symbol too. */
const MISMATCHES = Symbol("mismatches");

/** Whether the null under a key replaces a value of an undocumented type. */
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

/** The error for a response that is unusable because of the value at `path`. */
export const unusable = (path: string) =>
  new GatewayError(
    "UPSTREAM_BAD_RESPONSE",
    path === ""
      ? "Expected a JSON object from the service, got something else."
      : `The service's answer cannot be used: ${path} is missing or not of the documented type.`,
  );

/** A response that was read. `mismatches` has the paths of values that were replaced with null, such as `results.3.started_at`. */
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
