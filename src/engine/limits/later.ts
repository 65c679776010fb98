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
import { tooLarge } from "./too-large.ts";

/*
 * Where `@defer` and `@stream` may stand, as in the draft of the specification. Own code until graphql-js 17.
 */

/** Maximum places of an operation that are delivered later, its fragments expanded. */
const MAX_PLACES = 100;

const NAMES = new Set(["defer", "stream"]);

const directiveOf = ({ directives = [] }: SelectionNode): DirectiveNode | undefined =>
  directives.find(({ name }) => NAMES.has(name.value));

const argumentOf = (directive: DirectiveNode, name: string) =>
  directive.arguments?.find((argument) => argument.name.value === name)?.value;

/** Whether a directive never has an effect. */
const isOff = (directive: DirectiveNode): boolean => {
  const condition = argumentOf(directive, "if");
  return condition?.kind === Kind.BOOLEAN && !condition.value;
};

export const laterRule: ValidationRule = (context): ASTVisitor => {
  const labels = new Set<string>();
  const report = (message: string, nodes: DirectiveNode | OperationDefinitionNode): void =>
    context.reportError(new GraphQLError(message, { nodes }));

  return {
    OperationDefinition(operation) {
      const places = placesOf(context, operation.selectionSet);
      if (places === 0) return;
      if (places > MAX_PLACES)
        context.reportError(tooLarge(`Expected at most ${MAX_PLACES} @defer and @stream, got more.`));
      if (operation.operation === "subscription")
        report("Expected no @defer or @stream in a subscription: each of its results is whole.", operation);
      if (operation.operation === "mutation" && isAtRoot(context, operation.selectionSet, new Set()))
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

/** The number of places in a selection with its fragments expanded. */
function placesOf(context: ValidationContext, set: SelectionSetNode): number {
  const counted = new Map<string, number>();
  const countIn = ({ selections }: SelectionSetNode): number => {
    let places = 0;
    for (const node of selections) {
      const directive = directiveOf(node);
      if (directive && !isOff(directive)) places++;
      if (node.kind !== Kind.FRAGMENT_SPREAD) places += node.selectionSet ? countIn(node.selectionSet) : 0;
      else places += counted.get(node.name.value) ?? countOf(node.name.value);
    }
    return places;
  };
  const countOf = (name: string): number => {
    // A fragment that contains itself is reported by another rule.
    counted.set(name, 0);
    const fragment = context.getFragment(name);
    const places = fragment ? countIn(fragment.selectionSet) : 0;
    counted.set(name, places);
    return places;
  };
  return countIn(set);
}

function isAtRoot(context: ValidationContext, { selections }: SelectionSetNode, seen: Set<string>): boolean {
  return selections.some((node) => {
    const directive = directiveOf(node);
    if (directive && !isOff(directive)) return true;
    if (node.kind === Kind.INLINE_FRAGMENT) return isAtRoot(context, node.selectionSet, seen);
    if (node.kind === Kind.FIELD || seen.has(node.name.value)) return false;
    seen.add(node.name.value);
    const fragment = context.getFragment(node.name.value);
    return fragment ? isAtRoot(context, fragment.selectionSet, seen) : false;
  });
}
