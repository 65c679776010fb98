import * as z from "zod";

/*
 * Records that need no conversion are used as they were received: parsing with zod would copy each. A schema of values
 * that are only checked is compiled to one function; zod reads what fails it, or what must be converted.
 */

type Check = (value: unknown) => boolean;

const checks = new WeakMap<z.ZodType, Check>();

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A schema of values that are checked and not converted. */
export const checked = <Value>(check: Check): z.ZodType<Value> => checkedBy(check, z.custom<Value>(check));

/** Declares that a schema accepts what a check accepts, and does not convert it. */
export function checkedBy<Schema extends z.ZodType>(check: Check, schema: Schema): Schema {
  checks.set(schema, check);
  return schema;
}

// Safe: a conversion is called with what its own schema has read.
const conversions = new WeakMap<z.ZodType, (record: never) => unknown>();

/** Converts the records that a schema reads. `convert` returns records that need no conversion unchanged. */
export function converted<Schema extends z.ZodType, To>(
  schema: Schema,
  convert: (record: z.output<Schema>) => To,
) {
  const pipe = schema.transform(convert);
  conversions.set(pipe, convert);
  return pipe;
}

/** Returns a value that passes all checks, without a copy; undefined when it does not. */
type ReadAsIs = (value: unknown) => unknown;

const readers = new WeakMap<z.ZodType, ReadAsIs>();

/** The function that reads the values of a schema without copying them. Compiled on first use. */
export function readerAsIs(schema: z.ZodType): ReadAsIs {
  const reader = readers.get(schema) ?? compile(schema);
  readers.set(schema, reader);
  return reader;
}

function compile(schema: z.ZodType): ReadAsIs {
  const convert = conversions.get(schema) as ((record: unknown) => unknown) | undefined;
  // Safe, as below: schemas of zod's classic API contain only such schemas.
  const check = checkOf(convert && schema instanceof z.ZodPipe ? (schema.in as z.ZodType) : schema);
  if (!check) return () => undefined;
  return (value) => {
    if (!check(value)) return undefined;
    return convert ? convert(value) : value;
  };
}

/** The check of a schema; null when only zod itself can check it. */
function checkOf(schema: z.ZodType): Check | null {
  const own = checks.get(schema);
  if (own) return own;
  if (schema instanceof z.ZodUnknown) return () => true;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    const inner = checkOf(schema.unwrap() as z.ZodType);
    const absent = schema instanceof z.ZodOptional ? undefined : null;
    return inner && ((value) => value === absent || inner(value));
  }
  if (!(schema instanceof z.ZodObject)) return null;
  const fields: { readonly key: string; readonly check: Check }[] = [];
  for (const [key, field] of Object.entries<z.ZodType>(schema.shape)) {
    const check = checkOf(field);
    if (!check) return null;
    fields.push({ key, check });
  }
  return (value) => {
    if (!isObject(value)) return false;
    for (const { key, check } of fields) if (!check(value[key])) return false;
    return true;
  };
}
