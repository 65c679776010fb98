import { type FieldNode, getArgumentValues, type GraphQLField, Kind, type ValueNode } from "graphql";
import type { Variables } from "../field-source.ts";
import type { PlannedField } from "./types.ts";

const NO_ARGS = {};
export const noArgs = (): object => NO_ARGS;

/** Returns a function that coerces a field's arguments: once when they contain no variable. */
export function argumentsOf(
  definition: GraphQLField<unknown, unknown>,
  node: FieldNode,
): PlannedField["argsFor"] {
  if (definition.args.length === 0) return noArgs;
  const argsFor = (variables: Variables): object => getArgumentValues(definition, node, variables);
  if (hasVariable(node)) return argsFor;
  let args: object | null = null;
  return (variables) => (args ??= argsFor(variables));
}

const hasVariable = ({ arguments: given = [] }: FieldNode): boolean =>
  given.some(({ value }) => isVariable(value));

/** Whether a value is or contains a variable. */
function isVariable(value: ValueNode): boolean {
  if (value.kind === Kind.LIST) return value.values.some(isVariable);
  if (value.kind === Kind.OBJECT) return value.fields.some((field) => isVariable(field.value));
  return value.kind === Kind.VARIABLE;
}
