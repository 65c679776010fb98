import {
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  SingleFieldSubscriptionsRule,
  type ValidationRule,
} from "graphql";

const CONDITIONS = new Set(["skip", "include"]);

/**
 * Requires one root field of a subscription, without conditions, as the specification of September 2025 does. Own code
 * until graphql-js 17: the rule of graphql-js 16 treats variables as absent, and its execution throws a `TypeError` when
 * the field is left out.
 */
export const subscriptionRootRule: ValidationRule = (context) => {
  // Safe: the rule visits operations only.
  const requireOneField = SingleFieldSubscriptionsRule(context) as {
    readonly OperationDefinition: (operation: OperationDefinitionNode) => void;
  };
  const isConditional = ({ selections }: SelectionSetNode, seen: Set<string>): boolean =>
    selections.some((node) => hasCondition(node) || isConditional(setOf(node, seen), seen));

  /** The part of a node that is at the root as well. */
  const setOf = (node: SelectionNode, seen: Set<string>): SelectionSetNode => {
    if (node.kind === Kind.INLINE_FRAGMENT) return node.selectionSet;
    if (node.kind === Kind.FIELD || seen.has(node.name.value)) return NOTHING;
    seen.add(node.name.value);
    return context.getFragment(node.name.value)?.selectionSet ?? NOTHING;
  };

  return {
    OperationDefinition(operation) {
      if (operation.operation !== "subscription") return;
      if (!isConditional(operation.selectionSet, new Set()))
        return requireOneField.OperationDefinition(operation);
      context.reportError(
        new GraphQLError("Expected no @skip or @include at the root of a subscription.", {
          nodes: operation,
        }),
      );
    },
  };
};

const NOTHING: SelectionSetNode = { kind: Kind.SELECTION_SET, selections: [] };

const hasCondition = ({ directives = [] }: SelectionNode): boolean =>
  directives.some(({ name }) => CONDITIONS.has(name.value));
