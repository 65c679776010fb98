import {
  type ASTVisitor,
  type DirectiveNode,
  GraphQLError,
  isListType,
  getNullableType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type SelectionNode,
  type ValidationContext,
  type ValidationRule,
} from "graphql";

/*
 * Where `@defer` and `@stream` may stand, as in the draft of the specification. Own code until graphql-js 17.
 */

const NAMES = new Set(["defer", "stream"]);

const directiveOf = ({ directives = [] }: SelectionNode): DirectiveNode | undefined =>
  directives.find(({ name }) => NAMES.has(name.value));

const argumentOf = (directive: DirectiveNode, name: string) =>
  directive.arguments?.find((argument) => argument.name.value === name)?.value;

/** Whether a directive never has an effect. */
export const isOff = (directive: DirectiveNode): boolean => {
  const condition = argumentOf(directive, "if");
  return condition?.kind === Kind.BOOLEAN && !condition.value;
};

export const laterRule: ValidationRule = (context): ASTVisitor => {
  const labels = new Set<string>();
  const report = (message: string, nodes: DirectiveNode | OperationDefinitionNode): void =>
    context.reportError(new GraphQLError(message, { nodes }));

  return {
    OperationDefinition(operation) {
      const { selectionSet } = operation;
      if (operation.operation === "subscription" && isWithin(context, selectionSet, true))
        report("Expected no @defer or @stream in a subscription: each of its results is whole.", operation);
      if (operation.operation === "mutation" && isWithin(context, selectionSet, false))
        report(
          "Expected no @defer or @stream at the root of a mutation, only in what it returns.",
          operation,
        );
    },
    Directive(node) {
      const name = node.name.value;
      if (!NAMES.has(name)) return;
      const label = argumentOf(node, "label");
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

/** Whether anything in a selection is deferred or streamed, at its root or, if `isDeep`, below as well. */
function isWithin(context: ValidationContext, set: SelectionSetNode, isDeep: boolean): boolean {
  const seen = new Set<string>();
  const isIn = ({ selections }: SelectionSetNode): boolean =>
    selections.some((node) => {
      const directive = directiveOf(node);
      if (directive && !isOff(directive)) return true;
      if (node.kind === Kind.INLINE_FRAGMENT) return isIn(node.selectionSet);
      if (node.kind === Kind.FIELD) return isDeep && node.selectionSet ? isIn(node.selectionSet) : false;
      if (seen.has(node.name.value)) return false;
      seen.add(node.name.value);
      const fragment = context.getFragment(node.name.value);
      return fragment ? isIn(fragment.selectionSet) : false;
    });
  return isIn(set);
}
