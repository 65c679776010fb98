/*
 * The checks of single values. None converts its value: a record whose known keys all pass is used as it was received,
 * without a copy. Documented keys may be absent or null unless said otherwise.
 */

/** Whether a value is of the type that the document gives its key. */
export interface Check<Value> {
  (value: unknown): value is Value;
  /** The check of each item of a list, which finds the place of a wrong one. */
  readonly item?: (value: unknown) => boolean;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isString = (value: unknown) => typeof value === "string";

export const id = (value: unknown): value is number => Number.isSafeInteger(value);
export const requiredText = isString;
export const nonEmptyText = (value: unknown): value is string => typeof value === "string" && value !== "";
export const text = (value: unknown) => typeof value === "string" || value == null;
/** A 32-bit integer, as GraphQL's Int. */
export const integer = (value: unknown): value is number | null | undefined =>
  value == null || (typeof value === "number" && value === (value | 0));
export const number = (value: unknown): value is number | null | undefined =>
  value == null || Number.isFinite(value);
export const flag = (value: unknown) => typeof value === "boolean" || value == null;
/** ISO 8601 text as received, because a `Date` would lose microseconds and offset. */
export const timestamp = (value: unknown) => typeof value === "string" || value == null;
/** A value whose type the document does not show. */
export const unstated = (_value: unknown): _value is unknown => true;
export const object = (value: unknown): value is Readonly<Record<string, unknown>> | null | undefined =>
  value == null || isObject(value);
export const textOrObject = (
  value: unknown,
): value is string | Readonly<Record<string, unknown>> | null | undefined => text(value) || isObject(value);
/** A cursor. */
export const textOrInteger = (value: unknown): value is string | number | null | undefined =>
  text(value) || Number.isSafeInteger(value);
/** A list whose items have no documented type. */
export const list = (value: unknown): value is readonly unknown[] | null | undefined =>
  value == null || Array.isArray(value);

/** Longest list of records that is read. Real records of this number would exceed the size of a response. */
export const MAX_RECORDS = 100_000;

/** A list of records, which are read one by one. A list that is too long is a single fault. */
export const requiredRecords = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.length <= MAX_RECORDS && value.every(isObject);
export const records = (value: unknown): value is readonly unknown[] | null | undefined =>
  value == null || requiredRecords(value);

/** A list of strings. */
export const texts: Check<readonly string[] | null | undefined> = Object.assign(
  (value: unknown): value is readonly string[] | null | undefined =>
    value == null || (Array.isArray(value) && value.every(isString)),
  { item: isString },
);

/** An object of named values. Names such as `__proto__` come from users: only own keys may be read. */
export type ByName = Readonly<Record<string, unknown>>;

/** Maximum keys of one object of named values. Runs have some dozens. */
const MAX_NAMES = 10_000;

export function byName(value: unknown): value is ByName | null | undefined {
  if (value == null) return true;
  if (!isObject(value)) return false;
  let names = 0;
  for (const _ in value) if (++names > MAX_NAMES) return false;
  return true;
}
