import { InputError } from "../../errors.ts";
import {
  builder,
  computedFrom,
  computedFromOrNull,
  exposed,
  exposedOrNull,
  objectType,
} from "../core/builder.ts";
import { textOf } from "../core/cooperative-algorithms.ts";
import { finite } from "./series.ts";
import { quote } from "../core/ids.ts";

/* Parameters of experiments. The upstream service calls them declarations. */

export const ParameterValue = objectType<{ readonly name: string; readonly value: unknown }>(
  "ParameterValue",
  "A parameter and its value.",
  (t) => ({
    name: t.string(exposed("name", "Name of the parameter.")),
    value: t.field({
      type: "JSON",
      ...exposedOrNull("value", "Value as received: a string, a number, a boolean or a list of them."),
    }),
    number: t.field(
      computedFromOrNull(
        "Float",
        "Value, if it is a finite number; a long integer is rounded. Null for any other value, also for a string of digits.",
        ({ value }) => finite(value),
      ),
    ),
    text: t.field(
      computedFrom(
        "String",
        "Value as text: a string as it is, any other value as JSON.",
        ({ value }, _, context) => textOf(value ?? null, context),
      ),
    ),
  }),
);

export const ParameterInput = builder.inputType("ParameterInput", {
  description: "A parameter and its value.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the parameter." }),
    value: t.field({
      type: "JSON",
      required: true,
      description: "A string, a number, a boolean or a list of them.",
    }),
  }),
});

type Given = readonly (typeof ParameterInput.$inferInput)[];

/** Returns the given parameters by name; null if none are given. Throws `InputError` if a name is given twice. */
export function parametersByName(
  given: Given | null | undefined,
  argument: string,
): Readonly<Record<string, unknown>> | null {
  if (!given || given.length === 0) return null;
  const byName = new Map<string, unknown>();
  for (const { name, value } of given) {
    if (byName.has(name))
      throw new InputError(`${argument}: expected each name once, got ${quote(name)} twice`);
    byName.set(name, value);
  }
  return Object.fromEntries(byName);
}
