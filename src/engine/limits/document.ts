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
import { isOff } from "./later.ts";
import { fragmentsOf, rootNodesOf } from "./selection.ts";

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
  const sizes = new Map<SelectionSetNode, Size>();
  const fragmentNames = new Set(fragments.keys());
  /** Fields with arguments or selections, by response name. */
  const repeats = new Map<string, number>();

  const count = ({ alias, name, selectionSet, arguments: given = [] }: FieldNode): void => {
    if (!selectionSet && given.length === 0) return;
    const key = (alias ?? name).value;
    repeats.set(key, (repeats.get(key) ?? 0) + 1);
  };

  /** Counts what each selection has, once: nested spreads can grow exponentially. */
  const sizeOf = (set: SelectionSetNode | undefined): Size => {
    if (!set) return NOTHING;
    const known = sizes.get(set);
    if (known) return known;
    // A fragment that contains itself is reported by validation.
    sizes.set(set, NOTHING);
    const size = { ...NOTHING };
    for (const node of set.selections) {
      if (node.kind === Kind.FRAGMENT_SPREAD) fragmentNames.add(node.name.value);
      if (node.kind === Kind.FIELD) count(node);
      const part = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      const below = sizeOf(part?.selectionSet);
      const isLevel = node.kind === Kind.FIELD && node.name.value !== "__schema";
      if (node.kind !== Kind.FIELD || isLevel)
        size.depth = Math.max(size.depth, below.depth + Number(isLevel));
      size.hasLater ||= below.hasLater || isLater(node);
    }
    sizes.set(set, size);
    return size;
  };

  const sized = document.definitions.flatMap((node) =>
    "selectionSet" in node ? [{ node, size: sizeOf(node.selectionSet) }] : [],
  );
  if (fragmentNames.size > MAX_FRAGMENTS)
    throw tooLarge(`Expected at most ${MAX_FRAGMENTS} fragments, got ${fragmentNames.size}.`);
  const most = Math.max(0, ...repeats.values());
  if (most > MAX_REPEATS)
    throw tooLarge(
      `Expected one name for at most ${MAX_REPEATS} fields with arguments or selections, got ${most}.`,
    );
  for (const { node, size } of sized) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    if (size.depth > limits.depth)
      throw tooLarge(
        `Expected an operation at most ${limits.depth} fields deep, got a deeper one.`,
        "OPERATION_TOO_DEEP",
      );
    checkRoot(node, rootNodesOf(node, fragments), size, schema, limits);
  }
}

/** What a selection has with its fragments expanded. */
interface Size {
  depth: number;
  /** Whether a part is delivered later. */
  hasLater: boolean;
}

const NOTHING: Size = { depth: 0, hasLater: false };

/** Checks the fields at the root of an operation, how often each is there, and what may not be said of them. */
function checkRoot(
  operation: OperationDefinitionNode,
  nodes: readonly SelectionNode[],
  { hasLater }: Size,
  schema: GraphQLSchema,
  { mutationFields }: OperationLimits,
): void {
  const { operation: type } = operation;
  const refuse = (message: string) => {
    throw new GraphQLError(message, {
      nodes: operation,
      extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
    });
  };
  if (type === "subscription") {
    // As the specification of September 2025 has it. The execution of graphql-js 16 fails when the field is left out.
    if (nodes.some(isConditional)) refuse("Expected no @skip or @include at the root of a subscription.");
    if (hasLater) refuse("Expected no @defer or @stream in a subscription: each of its results is whole.");
    return;
  }
  if (type === "mutation" && nodes.some(isLater))
    refuse("Expected no @defer or @stream at the root of a mutation, only in what it returns.");
  const names = nodes.flatMap((node) => (node.kind === Kind.FIELD ? [node.name.value] : []));
  const most = type === "mutation" ? mutationFields : Infinity;
  if (names.length > most)
    throw tooLarge(`Expected at most ${most} fields at the root of a ${type}, got ${names.length}.`);
  // Fields of the schema, not of the document: it may have thousands of names that differ.
  for (const { name, extensions } of Object.values(schema.getRootType(type)?.getFields() ?? {})) {
    const { maxPerOperation = Infinity }: FieldExtensions = extensions;
    const count = maxPerOperation === Infinity ? 0 : names.filter((each) => each === name).length;
    if (count > maxPerOperation) throw tooLarge(`Expected at most ${maxPerOperation} ${name}, got ${count}.`);
  }
}

const isConditional = ({ directives = [] }: SelectionNode): boolean =>
  directives.some(({ name }) => name.value === "skip" || name.value === "include");

/** Whether a node has a `@defer` or `@stream` that may have an effect. */
const isLater = ({ directives = [] }: SelectionNode): boolean =>
  directives.some((node) => (node.name.value === "defer" || node.name.value === "stream") && !isOff(node));
