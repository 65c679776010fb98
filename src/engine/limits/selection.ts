import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValueNode,
} from "graphql";
import type { FieldExtensions, Variables } from "../field-source.ts";

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** The introspection fields at the root of a query. */
export const INTROSPECTION: ReadonlyMap<string, GraphQLField<unknown, unknown>> = new Map([
  ["__schema", SchemaMetaFieldDef],
  ["__type", TypeMetaFieldDef],
]);

export const fragmentsOf = ({ definitions }: DocumentNode): Fragments =>
  new Map(
    definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [],
    ),
  );

/** The nodes at the root of an operation. Those of a fragment count once: spread again, it adds the same fields. */
export function rootNodesOf(
  { selectionSet }: OperationDefinitionNode,
  fragments: Fragments,
): SelectionNode[] {
  const nodes: SelectionNode[] = [];
  const seen = new Set<SelectionSetNode>();
  const collect = (set: SelectionSetNode): void => {
    if (seen.has(set)) return;
    seen.add(set);
    for (const node of set.selections) {
      nodes.push(node);
      const part = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      if (node.kind !== Kind.FIELD && part?.selectionSet) collect(part.selectionSet);
    }
  };
  collect(selectionSet);
  return nodes;
}

/** Whether a fragment with this type condition applies to a type. */
export function appliesTo(
  schema: GraphQLSchema,
  condition: string | undefined,
  type: GraphQLObjectType,
): boolean {
  if (!condition || condition === type.name) return true;
  const wider = schema.getType(condition);
  return isAbstractType(wider) && schema.isSubType(wider, type);
}

/** Sizes of operations whose size depends on no variable. */
const sizes = new WeakMap<OperationDefinitionNode, number>();

/**
 * Counts the fields that an operation selects with its fragments expanded, each multiplied by the length of the list
 * arguments above it. Fields with `@skip` or `@include` count, and so does introspection. The lengths of lists from the
 * service are unknown and do not count. Own code: cost packages (graphql-cost-analysis, graphql-armor-cost-limit) walk a
 * fragment again at each spread, which is exactly the attack.
 */
export function sizeOfSelection(
  schema: GraphQLSchema,
  { operation, fragments }: { readonly operation: OperationDefinitionNode; readonly fragments: Fragments },
  variables: Variables,
): number {
  const known = sizes.get(operation);
  if (known !== undefined) return known;
  let isFixed = true;

  /** Memoized by selection and type, because nested spreads can grow exponentially. */
  const counted = new Map<SelectionSetNode, Map<GraphQLObjectType, number>>();

  const sizeOfSet = (set: SelectionSetNode, type: GraphQLObjectType): number => {
    const byType = counted.get(set) ?? new Map<GraphQLObjectType, number>();
    const before = byType.get(type);
    if (before !== undefined) return before;
    counted.set(set, byType);
    let size = 0;
    for (const node of set.selections) {
      if (node.kind === Kind.FIELD) {
        size += sizeOfField(node, type);
        continue;
      }
      const part = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      if (part && appliesTo(schema, part.typeCondition?.name.value, type))
        size += sizeOfSet(part.selectionSet, type);
    }
    byType.set(type, size);
    return size;
  };

  const sizeOfField = (node: FieldNode, parent: GraphQLObjectType): number => {
    const name = node.name.value;
    const field = parent.getFields()[name] ?? INTROSPECTION.get(name);
    if (!node.selectionSet || !field) return 1;
    const named = getNamedType(field.type);
    const types = isAbstractType(named) ? schema.getPossibleTypes(named) : isObjectType(named) ? [named] : [];
    // An item has one of the possible types, so the most expensive one counts.
    let largest = 0;
    for (const type of types) largest = Math.max(largest, sizeOfSet(node.selectionSet, type));
    const items = itemsOf(node, field);
    return 1 + (items === null ? largest : items * (1 + largest));
  };

  /** The number of items by the `itemsOf` argument; null without one. */
  const itemsOf = (node: FieldNode, field: GraphQLField<unknown, unknown>): number | null => {
    // Written where the field is declared.
    const { itemsOf: name } = field.extensions as FieldExtensions;
    const value = node.arguments?.find((argument) => argument.name.value === name)?.value;
    // At least one: zero times the infinite size of a recursive fragment would be NaN.
    return value ? Math.max(1, lengthOf(value)) : null;
  };

  const lengthOf = (value: ValueNode): number => {
    if (value.kind === Kind.LIST) return value.values.length;
    if (value.kind !== Kind.VARIABLE) return 1;
    isFixed = false;
    const name = value.name.value;
    const given = variables[name];
    if (Array.isArray(given)) return given.length;
    const fallback = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
    return given === undefined && fallback?.defaultValue ? lengthOf(fallback.defaultValue) : 1;
  };

  const root = schema.getRootType(operation.operation);
  const size = root ? sizeOfSet(operation.selectionSet, root) : 0;
  if (isFixed) sizes.set(operation, size);
  return size;
}
