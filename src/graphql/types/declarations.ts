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
      description: "Value as received: known servers have texts, numbers, booleans and lists of them.",
      ...shown("value"),
    }),
  }),
});

const { computed } = fieldsOf(Experiment.kind);

interface NamesArgs {
  readonly names?: readonly string[] | null | undefined;
}

/** The field `declarationValues` of an experiment. */
export const declarationValues = {
  type: [DeclarationValueRef] satisfies [object],
  description:
    "Parameters of the run, ordered by name: as `declarations`, but by names that are data. Null if the service sends none, or anything but an object.",
  args: builder.args((t) => ({
    names: t.stringList({ description: "Names of the parameters to return. Absent ones are left out." }),
  })),
  ...computed(["declarations"], ({ declarations }, _, { names }: NamesArgs) => {
    if (!isObject(declarations)) return null;
    const wanted = names ? new Set(names) : null;
    const given = Object.keys(declarations).filter((name) => wanted?.has(name) ?? true);
    return given.toSorted().map((name): DeclarationValue => ({ name, value: declarations[name] }));
  }),
};

/** The field `declaration` of an experiment. */
export const declaration = {
  type: "JSON" as const,
  description: "Value of one parameter of the run. Null if it has none of this name.",
  args: builder.args((t) => ({
    name: t.string({ required: true, description: "Name of the parameter." }),
  })),
  ...computed(["declarations"], ({ declarations }, _, { name }: { readonly name: string }) =>
    isObject(declarations) && Object.hasOwn(declarations, name) ? declarations[name] : null,
  ),
};
