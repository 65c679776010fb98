import { z } from "zod";
import { isObject, readTolerantly } from "./reader.ts";

/* What records are made of: schemas of single values. Each costs one look at its value, and finds at most one fault. */

export const id = z.int();
export const text = z.string().nullish();
/** What GraphQL calls an Int. */
export const integer = z.int32().nullish();
export const number = z.number().nullish();
export const flag = z.boolean().nullish();
/** ISO 8601 as the service wrote it: microseconds and offset would not survive a Date. */
export const timestamp = z.string().nullish();
/** A shape that the document does not show. */
export const unstated = z.unknown().optional();
export const object = z.custom<Record<string, unknown>>(isObject);
/** A list whose items are of no documented shape. */
export const list = z.custom<readonly unknown[]>(Array.isArray).nullish();

/** Longest list of records that is looked at: what the bytes of an answer could hold at most, if they were real. */
export const MAX_RECORDS = 100_000;

/** A list of records, which are read one by one. A list of a million things that are no records is one fault. */
export const records = z.custom<readonly unknown[]>(
  (value) => Array.isArray(value) && value.length <= MAX_RECORDS && value.every(isObject),
);

/** A list of strings. Own code and not `z.array`, which finds a fault for each of a million wrong items. */
export const texts = z
  .custom<readonly string[]>(Array.isArray)
  .check(({ value, issues }) => {
    const wrong = value.findIndex((item) => typeof item !== "string");
    if (wrong !== -1) issues.push({ code: "custom", path: [wrong], input: value[wrong] });
  })
  .nullish();

/** Most names in one object of values: runs have some dozens, and each is held, sorted and shown. */
const MOST_NAMES = 10_000;

function isByName(value: unknown): boolean {
  if (!isObject(value)) return false;
  let names = 0;
  for (const _ in value) if (++names > MOST_NAMES) return false;
  return true;
}

/** Names are data: a Map cannot be hurt by `__proto__`. */
export const byName = z
  .custom<Record<string, unknown>>(isByName)
  .transform((values): ReadonlyMap<string, unknown> => new Map(Object.entries(values)))
  .nullish();

/** The documented keys of an object, tolerantly read when they are asked for, beside the whole of it as received. */
export interface WithRaw<Known> {
  readonly known: Known;
  readonly raw: Readonly<Record<string, unknown>>;
}

export const openRaw = <Schema extends z.ZodType>(
  schema: Schema,
  raw: Readonly<Record<string, unknown>>,
): WithRaw<z.output<Schema>> => {
  let read: { readonly answer: z.output<Schema> } | null = null;
  return {
    get known() {
      return (read ??= readTolerantly(schema, raw)).answer;
    },
    raw,
  };
};

export const withRaw = <Schema extends z.ZodType>(schema: Schema) =>
  object.transform((raw) => openRaw(schema, raw)).nullish();
