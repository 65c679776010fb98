import * as z from "zod";

/* What the sections of a profile are made of. */

/** A strict object, with our own error messages. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: ({ code }) =>
      code === "unrecognized_keys" ? `expected only ${Object.keys(shape).join(", ")}` : "expected an object",
  });

/** A table with each row replaced. */
export const mapped = <Name extends string, Row, Result>(
  table: Readonly<Record<Name, Row>>,
  replace: (row: Row, name: Name) => Result,
) =>
  // Safe: the names are those of the table.
  Object.fromEntries(
    (Object.keys(table) as Name[]).map((name) => [name, replace(table[name], name)]),
  ) as Readonly<Record<Name, Result>>;

/** Text that matches `form`. `expected` completes the error message. */
export const textOf = (form: RegExp, expected: string) =>
  z.string({ error: `expected ${expected}` }).regex(form, { error: `expected ${expected}` });

export const parameter = textOf(/^[\w.[\]-]{1,100}$/, "the name of a query parameter");
export const query = z.record(parameter, z.string({ error: "expected text" }), {
  error: "expected query parameters and their values",
});
export const maxItems = z
  .int({ error: "expected a whole number above 0" })
  .positive({ error: "expected a whole number above 0" });
