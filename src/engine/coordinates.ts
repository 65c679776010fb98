import {
  getNamedType,
  type GraphQLSchema,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import type { Plan } from "./plan/plan.ts";

/** An operation with the fragments of its document. */
export type SelectedFields = Pick<Plan, "operation" | "fragments">;

/** The fields to count: the deprecated ones, or all. */
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

/**
 * Returns the coordinates of an operation's selected fields, such as `Experiment.status`. Visits each selection once, even in fragments
 * that are spread several times.
 */
function coordinatesIn(
  schema: GraphQLSchema,
  which: CountedFields,
  { operation, fragments }: SelectedFields,
): ReadonlySet<string> {
  const coordinates = new Set<string>();
  const seen = new Set<SelectionSetNode>();
  const open: { readonly set: SelectionSetNode; readonly type: unknown }[] = [
    { set: operation.selectionSet, type: schema.getRootType(operation.operation) },
  ];
  for (let next = open.pop(); next; next = open.pop()) {
    const { set, type } = next;
    if (seen.has(set)) continue;
    seen.add(set);
    for (const node of set.selections) {
      if (node.kind === Kind.FIELD) {
        const field =
          isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined;
        if (!field) continue;
        if (which === "all" || field.deprecationReason != null) coordinates.add(`${type}.${field.name}`);
        if (node.selectionSet) open.push({ set: node.selectionSet, type: getNamedType(field.type) });
        continue;
      }
      const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      const condition = fragment?.typeCondition ? schema.getType(fragment.typeCondition.name.value) : type;
      if (fragment && isCompositeType(condition)) open.push({ set: fragment.selectionSet, type: condition });
    }
  }
  return coordinates;
}
