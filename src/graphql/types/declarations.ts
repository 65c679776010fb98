import { isObject } from "../../rest/api/record.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf, shown } from "../core/fields.ts";
import { Experiment } from "../core/refs.ts";

/* The parameters of an experiment, by name. */

interface DeclarationValue {
  readonly name: string;
  readonly value: unknown;
}

export const DeclarationValueRef = builder.objectRef<DeclarationValue>("DeclarationValue").implement({
  description: "A parameter and its value.",
  fields: (t) => ({
    name: t.string({ nullable: false, description: "Name of the parameter.", ...shown("name") }),
    value: t.field({
      type: "JSON",
      description: "Value as received: a text, a number, a boolean or a list of them.",
      ...shown("value"),
    }),
  }),
});

const { computed } = fieldsOf(Experiment.kind);

export interface NamesArgs {
  readonly names?: readonly string[] | null | undefined;
}

/** The field `declarations` of an experiment. */
export const declarations = {
  type: [DeclarationValueRef] satisfies [object],
  description: "Parameters, by name.",
  args: builder.args((t) => ({
    names: t.stringList({ description: "Names to include. Default: all." }),
  })),
  ...computed(["declarations"], ({ declarations: given }, _, { names }: NamesArgs) => {
    if (!isObject(given)) return null;
    const wanted = names ? new Set(names) : null;
    const present = Object.keys(given).filter((name) => wanted?.has(name) ?? true);
    return present.toSorted().map((name): DeclarationValue => ({ name, value: given[name] }));
  }),
};

/** The field `declaration` of an experiment. */
export const declaration = {
  type: "JSON" as const,
  description: "Value of one parameter.",
  args: builder.args((t) => ({
    name: t.string({ required: true, description: "Name of the parameter." }),
  })),
  ...computed(["declarations"], ({ declarations: given }, _, { name }: { readonly name: string }) =>
    isObject(given) && Object.hasOwn(given, name) ? given[name] : null,
  ),
};
