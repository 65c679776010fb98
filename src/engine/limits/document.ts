import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import { tooLarge } from "../errors.ts";
import type { FieldExtensions } from "../field-source.ts";
import { type Fragments, fragmentsOf, rootNodesOf } from "./selection.ts";

export interface OperationLimits {
  /** Maximum nesting; introspection is exempt. */
  readonly depth: number;
  readonly tokens: number;
  readonly mutationFields: number;
}

/*
 * Validation compares fields with the same response name in pairs, with their arguments and selections, and fragments as
 * well. graphql-js gives up after 100 ms of it; with both limited it takes 20 ms at most.
 */

/** Maximum fields with the same response name that have arguments or selections. */
const MAX_REPEATS = 150;

/** Maximum names of fragments, whether defined or spread. */
const MAX_FRAGMENTS = 100;

/** Parses a document. Throws `GraphQLError` when it is larger than allowed or too costly to validate. */
export function parseBounded(text: string, schema: GraphQLSchema, limits: OperationLimits): DocumentNode {
  try {
    const document = parse(text, { maxTokens: limits.tokens });
    checkDocument(document, schema, limits);
    return document;
  } catch (error) {
    // A stack overflow: the parser recurses for each bracket.
    if (error instanceof RangeError)
      throw tooLarge("Expected a document that is nested less deeply.", "OPERATION_TOO_DEEP");
    if (!(error instanceof GraphQLError) || !error.message.includes("Parsing aborted")) throw error;
    throw tooLarge(`Expected a document of at most ${limits.tokens} tokens, got a longer one.`);
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

  /** Walks each selection once: nested spreads can grow exponentially. */
  const depthOf = (set: SelectionSetNode | undefined): number => {
    const known = set ? depths.get(set) : 0;
    if (!set || known !== undefined) return known ?? 0;
    // A fragment that contains itself is reported by validation.
    depths.set(set, 0);
    let depth = 0;
    for (const node of set.selections) {
      if (node.kind === Kind.FRAGMENT_SPREAD) fragmentNames.add(node.name.value);
      if (node.kind === Kind.FIELD) count(node);
      const part = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      const below = depthOf(part?.selectionSet);
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

/** Checks the fields at the root of an operation: how many, how often each, and that a subscription has its own. */
function checkRoot(
  operation: OperationDefinitionNode,
  fragments: Fragments,
  schema: GraphQLSchema,
  { mutationFields }: OperationLimits,
): void {
  const { operation: type } = operation;
  const nodes = rootNodesOf(operation, fragments);
  // As the specification of September 2025 has it. The validation of graphql-js 16 fails by it.
  if (type === "subscription" && nodes.some(isConditional))
    throw new GraphQLError("Expected no @skip or @include at the root of a subscription.", {
      nodes: operation,
      extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
    });
  const names = nodes.flatMap((node) => (node.kind === Kind.FIELD ? [node.name.value] : []));
  if (type === "mutation" && names.length > mutationFields)
    throw tooLarge(
      `Expected at most ${mutationFields} fields at the root of a mutation, got ${names.length}.`,
    );
  // Fields of the schema, not of the document: it may have thousands of names that differ.
  for (const { name, extensions } of Object.values(schema.getRootType(type)?.getFields() ?? {})) {
    const { maxPerOperation = Infinity }: FieldExtensions = extensions;
    const count = maxPerOperation === Infinity ? 0 : names.filter((each) => each === name).length;
    if (count > maxPerOperation) throw tooLarge(`Expected at most ${maxPerOperation} ${name}, got ${count}.`);
  }
}

const isConditional = ({ directives = [] }: SelectionNode): boolean =>
  directives.some(({ name }) => name.value === "skip" || name.value === "include");
