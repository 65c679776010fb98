import {
  type ArgumentNode,
  type ASTNode,
  type DirectiveNode,
  type FieldNode,
  getNullableType,
  GraphQLError,
  isListType,
  Kind,
  OverlappingFieldsCanBeMergedRule,
  validate,
  type ValidationRule,
  visit,
} from "graphql";
import { fragmentsOf, selectedNodes } from "../limits.ts";
import { textOf } from "./parse.ts";

/** Whether a directive has no effect, because its argument `if` is the constant false. */
function isOff({ arguments: given = [] }: DirectiveNode): boolean {
  const condition = given.find(({ name }) => name.value === "if")?.value;
  return condition?.kind === Kind.BOOLEAN && !condition.value;
}

/** Validates the locations and labels of `@defer` and `@stream`, as in the draft of the specification. Own code until graphql-js 17. */
export const incrementalRule: ValidationRule = (context) => {
  const labels = new Set<string>();
  /**
   * Whether an operation or fragment contains `@defer` or `@stream`. Remembered, because several operations may spread the same fragment.
   */
  const known = new Map<ASTNode, boolean>();
  const report = (message: string, nodes: ASTNode): void =>
    context.reportError(new GraphQLError(message, { nodes }));

  return {
    OperationDefinition(operation) {
      const fragments = fragmentsOf(context.getDocument());
      if (operation.operation === "mutation" && selectedNodes(operation, fragments).some(isIncremental))
        report(
          "Expected no @defer or @stream at the root of a mutation, only in what it returns.",
          operation,
        );
      if (operation.operation !== "subscription") return;
      const hasIncremental = (part: ASTNode): boolean => {
        let isFound = known.get(part) ?? false;
        const enter = (node: ASTNode): void => void (isFound ||= "directives" in node && isIncremental(node));
        if (!known.has(part)) visit(part, { enter });
        known.set(part, isFound);
        return isFound;
      };
      if ([operation, ...context.getRecursivelyReferencedFragments(operation)].some(hasIncremental))
        report("Expected no @defer or @stream in a subscription: each of its results is whole.", operation);
    },
    Directive(node) {
      const name = node.name.value;
      if (name !== "defer" && name !== "stream") return;
      const label = node.arguments?.find((argument) => argument.name.value === "label")?.value;
      if (label && label.kind !== Kind.STRING && label.kind !== Kind.NULL)
        report(`label of @${name}: expected a constant string`, node);
      if (label?.kind !== Kind.STRING) return;
      if (labels.has(label.value)) report(`label of @${name}: expected one that no other has`, node);
      labels.add(label.value);
    },
    Field(node) {
      const type = context.getFieldDef()?.type;
      const stream = node.directives?.find((directive) => directive.name.value === "stream");
      if (stream && type && !isListType(getNullableType(type)))
        report(`Expected @stream on a list, got it on ${node.name.value}.`, stream);
    },
  };
};

/** Whether a node has a `@defer` or `@stream` that may have an effect. */
const isIncremental = ({ directives = [] }: { readonly directives?: readonly DirectiveNode[] }): boolean =>
  directives.some((node) => (node.name.value === "defer" || node.name.value === "stream") && !isOff(node));

const streamOf = ({ directives = [] }: FieldNode): DirectiveNode | undefined =>
  directives.find((directive) => directive.name.value === "stream" && !isOff(directive));

/** Creates an argument that no other field has. Its name is not a valid GraphQL name, so no argument of a schema has the same name. */
const numbered = (number: number): ArgumentNode => ({
  kind: Kind.ARGUMENT,
  name: { kind: Kind.NAME, value: "@stream" },
  value: { kind: Kind.INT, value: `${number}` },
});

/**
 * Requires, as graphql-js 17 does, that a field with `@stream` is not selected again, deferred or not. Otherwise its items would be
 * delivered twice, or without some of their fields. Each field with `@stream` is given its own argument, because the rule of graphql-js 16
 * for merged fields rejects fields whose arguments differ.
 */
export const streamedOnceRule: ValidationRule = (context) => ({
  Document(document) {
    // Most documents have no directive.
    if (textOf(document)?.includes("@") === false) return;
    let streams = 0;
    const changed = visit(document, {
      Field: (node) =>
        streamOf(node) && { ...node, arguments: [...(node.arguments ?? []), numbered(streams++)] },
    });
    if (streams === 0) return;
    for (const { nodes = [] } of validate(context.getSchema(), changed, [OverlappingFieldsCanBeMergedRule])) {
      const streamed = nodes.find((node) => node.kind === Kind.FIELD && streamOf(node));
      if (streamed?.kind !== Kind.FIELD) continue;
      const message = `Expected one selection of ${streamed.name.value} where it has @stream, got several: use an alias.`;
      context.reportError(new GraphQLError(message, { nodes }));
    }
  },
});
