import * as z from "zod";
import { checked, checkedBy, isObject } from "./as-is.ts";
import { readTolerantly } from "./reader.ts";

/*
 * What records are made of: schemas of single values. Each costs one look at its value, and finds at most one fault. None
 * converts its value: a record that passes all checks is used as it was received, without a copy.
 */

const isString = (value: unknown) => typeof value === "string";

export const id = checked<number>(Number.isSafeInteger);
export const requiredText = checked<string>(isString);
export const text = requiredText.nullish();
/** A 32-bit integer, as GraphQL's Int. */
export const integer = checked<number>(
  (value) => typeof value === "number" && value === (value | 0),
).nullish();
export const number = checked<number>(Number.isFinite).nullish();
export const flag = checked<boolean>((value) => typeof value === "boolean").nullish();
/** ISO 8601 text as received, because a `Date` would lose microseconds and offset. */
export const timestamp = checked<string>(isString).nullish();
/** A value whose type the document does not show. */
export const unstated = z.unknown().optional();
export const object = checked<Readonly<Record<string, unknown>>>(isObject).nullish();
export const textOrObject = checked<string | Readonly<Record<string, unknown>>>(
  (value) => isString(value) || isObject(value),
).nullish();
/** A list whose items have no documented type. */
export const list = checked<readonly unknown[]>(Array.isArray).nullish();

/** Longest list of records that is read. Real records of this number would exceed the size of a response. */
export const MAX_RECORDS = 100_000;

/** A list of records, which are parsed one by one. A list that is too long is a single fault. */
export const records = checked<readonly unknown[]>(
  (value) => Array.isArray(value) && value.length <= MAX_RECORDS && value.every(isObject),
);

/** A list of strings. Own code instead of `z.array`, which reports a fault for each of a million wrong items. */
export const texts = checkedBy(
  (value) => Array.isArray(value) && value.every(isString),
  z.custom<readonly string[]>(Array.isArray).check(({ value, issues }) => {
    const wrong = value.findIndex((item) => !isString(item));
    if (wrong !== -1) issues.push({ code: "custom", path: [wrong], input: value[wrong] });
  }),
).nullish();

/** Maximum keys of one object of named values. Runs have some dozens. */
const MAX_NAMES = 10_000;

function isByName(value: unknown): boolean {
  if (!isObject(value)) return false;
  let names = 0;
  for (const _ in value) if (++names > MAX_NAMES) return false;
  return true;
}

/** An object of named values. Names such as `__proto__` come from users: only own keys may be read. */
export type ByName = Readonly<Record<string, unknown>>;

export const byName = checked<ByName>(isByName).nullish();

/** The documented keys of an object, parsed tolerantly on first use, and the whole object as received. */
export interface WithRaw<Known> {
  readonly known: Known;
  readonly raw: Readonly<Record<string, unknown>>;
}

/** A class: V8 gives each object literal with a getter a hidden class of its own. */
export class Raw<Schema extends z.ZodType> implements WithRaw<z.output<Schema>> {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly #schema: Schema;
  #read: { readonly answer: z.output<Schema> } | null = null;

  constructor(schema: Schema, raw: Readonly<Record<string, unknown>>) {
    this.#schema = schema;
    this.raw = raw;
  }

  get known(): z.output<Schema> {
    return (this.#read ??= readTolerantly(this.#schema, this.raw)).answer;
  }
}
