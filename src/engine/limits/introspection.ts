import {
  type FieldNode,
  getIntrospectionQuery,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isObjectType,
  Kind,
  parse,
  type SelectionSetNode,
} from "graphql";
import type { Variables } from "../field-source.ts";
import { type Fragments, fragmentsOf, INTROSPECTION, type Selection } from "./selection.ts";

/*
 * Introspection is answered from memory in one go, without a turn of the event loop, so it is weighed before: the
 * fields that it will complete are counted along the schema's own lists. Each selection is counted once for each type,
 * field or argument that it meets.
 */

/** How much more than the query of the usual tools an operation may ask of the schema. */
const ROOM = 1.5;

/** Whether an operation asks much more of the schema than the usual tools do. */
export const isLargeIntrospection = (selection: Selection): boolean => {
  const asked = introspectionIn(selection.operation.selectionSet, selection.fragments);
  if (asked.length === 0) return false;
  const most = ROOM * standardSize(selection.schema);
  return sizeOfIntrospection(asked, selection, most) > most;
};

/** What the usual tools' query completes, by schema. */
const standards = new WeakMap<GraphQLSchema, number>();

function standardSize(schema: GraphQLSchema): number {
  const known = standards.get(schema);
  if (known !== undefined) return known;
  const document = parse(
    getIntrospectionQuery({
      descriptions: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    }),
  );
  const fragments = fragmentsOf(document);
  const asked = document.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? introspectionIn(node.selectionSet, fragments) : [],
  );
  const size = sizeOfIntrospection(asked, { schema, fragments, variables: {} }, Number.POSITIVE_INFINITY);
  standards.set(schema, size);
  return size;
}

/** The introspection fields at the root of an operation, as often as fragments bring them there. */
function introspectionIn(set: SelectionSetNode, fragments: Fragments): FieldNode[] {
  const asked: FieldNode[] = [];
  const seen = new Set<SelectionSetNode>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const node of selections) {
      if (node.kind === Kind.FIELD) {
        if (INTROSPECTION.has(node.name.value)) asked.push(node);
        continue;
      }
      const part = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      // A fragment that is spread again brings the same fields under the same names.
      if (!part || seen.has(part.selectionSet)) continue;
      seen.add(part.selectionSet);
      collect(part.selectionSet);
    }
  };
  collect(set);
  return asked;
}

interface Asked {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
  readonly variables: Variables;
}

/** Fields and items that introspection will complete; anything larger than `most` where there are more. */
function sizeOfIntrospection(
  asked: readonly FieldNode[],
  { schema, fragments, variables }: Asked,
  most: number,
): number {
  const counted = new Map<SelectionSetNode, Map<unknown, number>>();
  // All that the resolvers of introspection look at.
  const info = { schema } as GraphQLResolveInfo;
  let steps = 0;

  const sizeOfSet = (set: SelectionSetNode, type: GraphQLObjectType, source: unknown): number => {
    const bySource = counted.get(set) ?? new Map<unknown, number>();
    const before = bySource.get(source);
    if (before !== undefined) return before;
    counted.set(set, bySource);
    let size = 0;
    for (const node of set.selections) {
      // Whatever is met once is completed at least once.
      if (++steps > most) return Number.POSITIVE_INFINITY;
      if (node.kind === Kind.FIELD) {
        const field = type.getFields()[node.name.value];
        size += field ? sizeOfField(node, field, source) : 1;
        continue;
      }
      const part = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      if (part) size += sizeOfSet(part.selectionSet, type, source);
    }
    bySource.set(source, size);
    return size;
  };

  const sizeOfField = (node: FieldNode, field: GraphQLField<unknown, unknown>, source: unknown): number => {
    const type = getNamedType(field.type);
    if (!node.selectionSet || !isObjectType(type)) return 1;
    const value = field.resolve?.(source, argumentsOf(node), {}, info);
    const items: readonly unknown[] = Array.isArray(value) ? value : value == null ? [] : [value];
    let size = 1;
    for (const item of items) size += 1 + sizeOfSet(node.selectionSet, type, item);
    return size;
  };

  /** The name that `__type` takes; elsewhere what is deprecated counts whether it is asked for or not. */
  const argumentsOf = ({ arguments: given }: FieldNode): Record<string, unknown> => {
    const name = given?.find((argument) => argument.name.value === "name")?.value;
    if (name?.kind === Kind.STRING) return { name: name.value, includeDeprecated: true };
    const variable = name?.kind === Kind.VARIABLE ? variables[name.name.value] : undefined;
    return { name: String(variable), includeDeprecated: true };
  };

  let size = 0;
  for (const node of asked) {
    const field = INTROSPECTION.get(node.name.value);
    if (field) size += sizeOfField(node, field, undefined);
  }
  return size;
}
