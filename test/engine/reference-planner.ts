import { MapperKind, mapSchema } from "@graphql-tools/utils";
import {
  defaultFieldResolver,
  execute,
  type FieldNode,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  type GraphQLFieldResolver,
  GraphQLIncludeDirective,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLSkipDirective,
  isAbstractType,
  isListType,
  isNonNullType,
  isObjectType,
  type SelectionNode,
} from "graphql";
import { type FieldExtensions, type IsSelected, LazyValue } from "../../src/engine/field-extensions.ts";
import { fragmentsOf } from "../../src/engine/limits.ts";
import { createCompilation } from "../../src/engine/plan/compile.ts";
import type { Planner } from "../../src/engine/plan/plan.ts";

/*
 * Runs operations with graphql-js, the reference for the plan. Values that a plan prepares, and its prefetches, are derived from `info`
 * here.
 */

type Resolve = GraphQLFieldResolver<unknown, unknown>;
type Start = (...given: readonly unknown[]) => Promise<unknown>;

/** A copy of the schema whose resolvers graphql-js can call. */
const referenceOf = (schema: GraphQLSchema): GraphQLSchema =>
  mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field) => ({
      ...field,
      resolve: resolverOf(field.type, field.extensions ?? {}, field.resolve ?? null),
    }),
  });

function resolverOf(
  type: GraphQLOutputType,
  { prefetch, child }: FieldExtensions,
  resolve: Resolve | null,
): Resolve {
  const list = getNullableType(type);
  const item = isListType(list) ? list.ofType : null;
  const load = (object: unknown, context: unknown, info: GraphQLResolveInfo): unknown => {
    if (!prefetch || object == null) return object;
    const named = getNamedType(type);
    const name = isAbstractType(named) ? named.resolveType?.(object, context, info, named) : named.name;
    const objectType = info.schema.getType(String(name));
    if (!isObjectType(objectType)) throw new TypeError("no object type");
    const { needs } = compilationOf(info).selectionOf(objectType, info.fieldNodes);
    return (prefetch as (...given: readonly unknown[]) => unknown)(
      object,
      needs,
      context,
      info.variableValues,
    );
  };
  const isPrefetched = prefetch && !isNonNullType(item ?? type);
  return async (source, args, context, info) => {
    const given: unknown = child
      ? await (child.start as Start)(source, args, context, isSelectedIn(info))
      : await (resolve ?? defaultFieldResolver)(source, args, context, info);
    const value: unknown = given instanceof LazyValue ? await given.compute() : given;
    if (!isPrefetched) return value;
    if (!item || !Array.isArray(value)) return load(value, context, info);
    return value.map(async (each) => load(await each, context, info));
  };
}

function compilationOf({ schema, fragments, variableValues }: GraphQLResolveInfo) {
  return createCompilation({
    schema,
    fragments: new Map(Object.entries(fragments)),
    onCompiled: () => {},
    deferral: null,
    shouldIncludeNode: (node: SelectionNode) =>
      getDirectiveValues(GraphQLSkipDirective, node, variableValues)?.["if"] !== true &&
      getDirectiveValues(GraphQLIncludeDirective, node, variableValues)?.["if"] !== false,
  });
}

/** The selections below a field, found by following the names of its selection set. */
function isSelectedIn(info: GraphQLResolveInfo): IsSelected {
  const below = (nodes: readonly FieldNode[], [name, ...rest]: readonly string[]): boolean => {
    const found: FieldNode[] = [];
    const open = nodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []);
    for (let node = open.pop(); node; node = open.pop()) {
      if (node.kind === "Field") {
        if (node.name.value === name) found.push(node);
      } else {
        const part = node.kind === "InlineFragment" ? node : info.fragments[node.name.value];
        open.push(...(part?.selectionSet.selections ?? []));
      }
    }
    return rest.length === 0 ? found.length > 0 : below(found, rest);
  };
  return (...path) => below(info.fieldNodes, path);
}

const references = new WeakMap<GraphQLSchema, GraphQLSchema>();

export const referencePlanner: Planner = (schema, document, operation) => {
  const reference = references.get(schema) ?? referenceOf(schema);
  references.set(schema, reference);
  return {
    operation,
    fragments: fragmentsOf(document),
    execute: (variableValues, contextValue, _meter, _event, onResult) =>
      void Promise.resolve(
        execute({
          schema: reference,
          document,
          contextValue,
          variableValues,
          ...(operation.name ? { operationName: operation.name.value } : {}),
        }),
      ).then(onResult),
  };
};
