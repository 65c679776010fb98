import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
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
import { parseDocument } from "./documents/parse.ts";
import { documentError, tooLarge } from "./errors.ts";
import type { FieldExtensions, Variables } from "./field-extensions.ts";

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

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

/** The selection set of a node or, for a spread, of its fragment. */
const selectionSetOf = (node: SelectionNode, fragments: Fragments): SelectionSetNode | undefined =>
  (node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node)?.selectionSet;

/**
 * The nodes that an operation or field selects, including the nodes of fragments. The nodes of a fragment count once, because a second
 * spread adds the same fields.
 */
export function selectedNodes({ selectionSet }: OperationDefinitionNode | FieldNode, fragments: Fragments) {
  const nodes: SelectionNode[] = [];
  const sets = new Set([selectionSet]);
  for (const set of sets)
    for (const node of set?.selections ?? []) {
      nodes.push(node);
      if (node.kind !== Kind.FIELD) sets.add(selectionSetOf(node, fragments));
    }
  return nodes;
}

export function appliesTo(schema: GraphQLSchema, condition: string | undefined, type: GraphQLObjectType) {
  if (!condition || condition === type.name) return true;
  const wider = schema.getType(condition);
  return isAbstractType(wider) && schema.isSubType(wider, type);
}

export interface OperationLimits {
  /** Maximum nesting of fields. Introspection is exempt. */
  readonly depth: number;
  readonly tokens: number;
  readonly mutationFields: number;
}

/*
 * Validation compares each pair of fields with the same response name, including their arguments and selections, and each pair of
 * fragments. graphql-js limits the number of comparisons, but only to about 100 ms. With the limits below, validation takes at most 20 ms.
 */

/** Maximum fields with the same response name that have arguments or selections. */
const MAX_REPEATS = 150;

/** Maximum number of fragment names, whether defined or spread. Operations are limited too, because each may use all fragments. */
const MAX_FRAGMENTS = 100;
const MAX_OPERATIONS = 100;

/** Parses a document. Throws `GraphQLError` when the document is larger than allowed or too costly to validate. */
export function parseBounded(text: string, schema: GraphQLSchema, limits: OperationLimits): DocumentNode {
  try {
    const document = parseDocument(text, limits.tokens);
    checkDocument(document, schema, limits);
    return document;
  } catch (error) {
    // The parser recurses at each bracket, so deep nesting overflows the stack.
    if (error instanceof RangeError)
      throw tooLarge("Expected a document that is nested less deeply.", "OPERATION_TOO_DEEP");
    if (!(error instanceof GraphQLError)) throw error;
    throw error.message.endsWith("Parsing aborted.")
      ? tooLarge(`Expected a document of at most ${limits.tokens} tokens, got a longer one.`)
      : documentError(error, "GRAPHQL_PARSE_FAILED");
  }
}

function checkDocument(document: DocumentNode, schema: GraphQLSchema, limits: OperationLimits): void {
  const fragments = fragmentsOf(document);
  const depths = new Map<SelectionSetNode, number>();
  const fragmentNames = new Set(fragments.keys());
  /** Fields with arguments or selections, by response name. */
  const repeats = new Map<string, number>();

  const count = ({ alias, name, selectionSet, arguments: given = [] }: FieldNode): void => {
    if (!selectionSet && given.length === 0) return;
    const key = (alias ?? name).value;
    repeats.set(key, (repeats.get(key) ?? 0) + 1);
  };

  /** The depth of a selection set. Walks each set once, because nested spreads can grow exponentially. */
  const depthOf = (set: SelectionSetNode | undefined): number => {
    const known = set ? depths.get(set) : 0;
    if (!set || known !== undefined) return known ?? 0;
    // Ends the recursion for a fragment that contains itself, which validation rejects.
    depths.set(set, 0);
    let depth = 0;
    for (const node of set.selections) {
      if (node.kind === Kind.FRAGMENT_SPREAD) fragmentNames.add(node.name.value);
      if (node.kind === Kind.FIELD) count(node);
      const below = depthOf(selectionSetOf(node, fragments));
      if (node.kind !== Kind.FIELD) depth = Math.max(depth, below);
      else if (node.name.value !== "__schema") depth = Math.max(depth, below + 1);
    }
    depths.set(set, depth);
    return depth;
  };

  const depthsOf = document.definitions.flatMap((node) =>
    "selectionSet" in node ? [{ node, depth: depthOf(node.selectionSet) }] : [],
  );
  if (fragmentNames.size > MAX_FRAGMENTS)
    throw tooLarge(`Expected at most ${MAX_FRAGMENTS} fragments, got ${fragmentNames.size}.`);
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length;
  if (operations > MAX_OPERATIONS)
    throw tooLarge(`Expected at most ${MAX_OPERATIONS} operations, got ${operations}.`);
  const most = Math.max(0, ...repeats.values());
  if (most > MAX_REPEATS)
    throw tooLarge(
      `Expected one name for at most ${MAX_REPEATS} fields with arguments or selections, got ${most}.`,
    );
  for (const { node, depth } of depthsOf) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    if (depth > limits.depth)
      throw tooLarge(
        `Expected an operation at most ${limits.depth} fields deep, got a deeper one.`,
        "OPERATION_TOO_DEEP",
      );
    checkRoot(node, fragments, schema, limits);
  }
}

/** Checks the fields at the root of an operation: their number, the number of selections of each, and conditions in a subscription. */
function checkRoot(
  operation: OperationDefinitionNode,
  fragments: Fragments,
  schema: GraphQLSchema,
  { mutationFields }: OperationLimits,
): void {
  const { operation: type } = operation;
  const nodes = selectedNodes(operation, fragments);
  // The specification of September 2025 has this rule. Without it, the validation of graphql-js 16 would throw on such a document.
  if (type === "subscription" && nodes.some((node) => hasDirective(node, "skip", "include")))
    throw new GraphQLError("Expected no @skip or @include at the root of a subscription.", {
      nodes: operation,
      extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
    });
  const names = nodes.flatMap((node) => (node.kind === Kind.FIELD ? [node.name.value] : []));
  if (type === "mutation" && names.length > mutationFields)
    throw tooLarge(
      `Expected at most ${mutationFields} fields at the root of a mutation, got ${names.length}.`,
    );
  // The loop is over the fields of the schema, because the document may have thousands of different names.
  for (const { name, extensions } of Object.values(schema.getRootType(type)?.getFields() ?? {})) {
    const { maxPerOperation = Infinity }: FieldExtensions = extensions;
    const count = maxPerOperation === Infinity ? 0 : names.filter((each) => each === name).length;
    if (count > maxPerOperation) throw tooLarge(`Expected at most ${maxPerOperation} ${name}, got ${count}.`);
  }
}

const hasDirective = ({ directives = [] }: SelectionNode, ...names: readonly string[]): boolean =>
  directives.some(({ name }) => names.includes(name.value));

/** The sizes of operations whose size depends on no variable. */
const sizes = new WeakMap<OperationDefinitionNode, number>();

/**
 * Counts the fields that an operation selects with its fragments expanded, each multiplied by the length of the list arguments above the
 * field. A fragment with `@defer` counts as one more field. Fields with `@skip` or `@include` are counted, and so are fields of
 * introspection. The lengths of upstream lists are unknown and are not considered. With `variables: null`, the fields of the plan are
 * counted, for all possible types. Own code: cost packages (graphql-cost-analysis, graphql-armor-cost-limit) walk a fragment again at each
 * spread, which takes exponential time for nested spreads.
 */
export function sizeOfSelection(
  schema: GraphQLSchema,
  { operation, fragments }: { readonly operation: OperationDefinitionNode; readonly fragments: Fragments },
  variables: Variables | null,
): number {
  const known = variables && sizes.get(operation);
  if (known != null) return known;
  let isFixed = true;

  /** The sizes of selections by type. Memoized, because nested spreads can grow exponentially. */
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
      const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      if (fragment && appliesTo(schema, fragment.typeCondition?.name.value, type))
        size += sizeOfSet(fragment.selectionSet, type) + (hasDirective(node, "defer") ? 1 : 0);
    }
    byType.set(type, size);
    return size;
  };

  const sizeOfField = (node: FieldNode, parent: GraphQLObjectType): number => {
    const name = node.name.value;
    const field = parent.getFields()[name] ?? INTROSPECTION.get(name);
    const { selectionSet } = node;
    if (!selectionSet || !field) return 1;
    const named = getNamedType(field.type);
    const types = isAbstractType(named) ? schema.getPossibleTypes(named) : isObjectType(named) ? [named] : [];
    // An item has one of the possible types, so the most expensive type counts. A plan may be compiled for all types, so all types count.
    const all = types.map((type) => sizeOfSet(selectionSet, type));
    const largest = variables ? Math.max(0, ...all) : all.reduce((sum, each) => sum + each, 0);
    const items = itemsOf(node, field);
    return 1 + (items === null ? largest : items * (1 + largest));
  };

  /** The number of items, from the argument that `itemsOf` names; null without such an argument. */
  const itemsOf = (node: FieldNode, field: GraphQLField<unknown, unknown>): number | null => {
    // Safe: the declaration of the field sets these extensions.
    const { itemsOf: name } = field.extensions as FieldExtensions;
    const value = variables && node.arguments?.find((argument) => argument.name.value === name)?.value;
    // The factor is at least one, because zero times an infinite size would be NaN. Nested spreads can make a size infinite.
    return value ? Math.max(1, lengthOf(value)) : null;
  };

  const lengthOf = (value: ValueNode): number => {
    if (value.kind === Kind.LIST) return value.values.length;
    if (value.kind !== Kind.VARIABLE) return 1;
    isFixed = false;
    const name = value.name.value;
    const given = variables && Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (Array.isArray(given)) return given.length;
    const fallback = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
    return given === undefined && fallback?.defaultValue ? lengthOf(fallback.defaultValue) : 1;
  };

  const root = schema.getRootType(operation.operation);
  const size = root ? sizeOfSet(operation.selectionSet, root) : 0;
  if (isFixed && variables) sizes.set(operation, size);
  return size;
}
