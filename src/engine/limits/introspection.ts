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
 * Limits introspection before it runs, because it is resolved synchronously and blocks the event loop. Counts the fields
 * that it will complete by walking the schema's own lists. Each selection is counted once for each type, field or
 * argument that it applies to.
 */

/** Maximum size of an introspection, as a multiple of the query that common tools send. */
const MAX_RATIO = 1.5;

/** Whether an operation introspects much more than common tools do. */
export const isLargeIntrospection = (selection: Selection): boolean => {
  const fields = introspectionIn(selection.operation.selectionSet, selection.fragments);
  if (fields.length === 0) return false;
  const max = MAX_RATIO * standardSize(selection.schema);
  return sizeOfIntrospection(fields, selection, max) > max;
};

/** The size of the tools' introspection query, by schema. */
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
  const fields = document.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? introspectionIn(node.selectionSet, fragments) : [],
  );
  const size = sizeOfIntrospection(fields, { schema, fragments, variables: {} }, Number.POSITIVE_INFINITY);
  standards.set(schema, size);
  return size;
}

/** The introspection fields at the root of an operation, fragments included. */
function introspectionIn(set: SelectionSetNode, fragments: Fragments): FieldNode[] {
  const fields: FieldNode[] = [];
  const seen = new Set<SelectionSetNode>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const node of selections) {
      if (node.kind === Kind.FIELD) {
        if (INTROSPECTION.has(node.name.value)) fields.push(node);
        continue;
      }
      const part = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      // A fragment that is spread again adds the same fields under the same names.
      if (!part || seen.has(part.selectionSet)) continue;
      seen.add(part.selectionSet);
      collect(part.selectionSet);
    }
  };
  collect(set);
  return fields;
}

interface IntrospectionContext {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
  readonly variables: Variables;
}

/** Counts the fields and items that introspection will complete. Stops above `max`. */
function sizeOfIntrospection(
  fields: readonly FieldNode[],
  { schema, fragments, variables }: IntrospectionContext,
  max: number,
): number {
  const counted = new Map<SelectionSetNode, Map<unknown, number>>();
  // The introspection resolvers read nothing else.
  const info = { schema } as GraphQLResolveInfo;
  let steps = 0;

  const sizeOfSet = (set: SelectionSetNode, type: GraphQLObjectType, source: unknown): number => {
    const bySource = counted.get(set) ?? new Map<unknown, number>();
    const before = bySource.get(source);
    if (before !== undefined) return before;
    counted.set(set, bySource);
    let size = 0;
    for (const node of set.selections) {
      // Each step completes at least one field, so the count is above the limit as well.
      if (++steps > max) return Number.POSITIVE_INFINITY;
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

  /** Arguments for counting: the `name` of `__type`; deprecated members always count. */
  const argumentsOf = ({ arguments: given }: FieldNode): Record<string, unknown> => {
    const name = given?.find((argument) => argument.name.value === "name")?.value;
    if (name?.kind === Kind.STRING) return { name: name.value, includeDeprecated: true };
    const variable = name?.kind === Kind.VARIABLE ? variables[name.name.value] : undefined;
    return { name: String(variable), includeDeprecated: true };
  };

  let size = 0;
  for (const node of fields) {
    const field = INTROSPECTION.get(node.name.value);
    if (field) size += sizeOfField(node, field, undefined);
  }
  return size;
}
