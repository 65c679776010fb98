import {
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import type { Plan } from "./plan/plan.ts";

/** An operation with the fragments of its document. */
export type SelectedFields = Pick<Plan, "operation" | "fragments">;

type CountedFields = "deprecated" | "all";

/** Returns the coordinates of the fields that a valid operation selects. They are cached together with its document. */
export type CoordinatesOf = (selected: SelectedFields) => ReadonlySet<string>;

export function createCoordinates(schema: GraphQLSchema, which: CountedFields): CoordinatesOf {
  const known = new WeakMap<OperationDefinitionNode, ReadonlySet<string>>();
  return (selected) => {
    const coordinates = known.get(selected.operation) ?? coordinatesIn(schema, which, selected);
    known.set(selected.operation, coordinates);
    return coordinates;
  };
}

/** Returns the coordinates of an operation's selected fields, such as `Experiment.status`. Visits each fragment once. */
function coordinatesIn(
  schema: GraphQLSchema,
  which: CountedFields,
  { operation, fragments }: SelectedFields,
): ReadonlySet<string> {
  const coordinates = new Set<string>();
  const typeInfo = new TypeInfo(schema);
  const reached = new Set<OperationDefinitionNode | FragmentDefinitionNode>([operation]);
  const visitor = visitWithTypeInfo(typeInfo, {
    FragmentSpread: ({ name }) => {
      const fragment = fragments.get(name.value);
      if (fragment) reached.add(fragment);
    },
    Field: ({ name }) => {
      // Introspection is not counted.
      if (name.value.startsWith("__")) return false;
      if (which === "all" || typeInfo.getFieldDef()?.deprecationReason != null)
        coordinates.add(`${typeInfo.getParentType()}.${name.value}`);
      return undefined;
    },
  });
  for (const part of reached) visit(part, visitor);
  return coordinates;
}
