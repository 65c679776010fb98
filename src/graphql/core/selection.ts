import {
  type FieldNode,
  getDirectiveValues,
  type GraphQLResolveInfo,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  Kind as Syntax,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";

/** Whether a field is selected below another one: `isSelected("nodes", "metrics")`. */
export type IsSelected = (...path: readonly string[]) => boolean;

/** What is selected below a field, whatever the types of fragments: none of ours gives one name two meanings. */
export function selectedBelow(nodes: readonly FieldNode[], info: GraphQLResolveInfo): IsSelected {
  const isSelected = (sets: readonly SelectionSetNode[], [name, ...rest]: readonly string[]): boolean => {
    const fields = fieldsIn(sets, info, new Set()).filter((field) => field.name.value === name);
    return rest.length === 0 ? fields.length > 0 : isSelected(setsOf(fields), rest);
  };
  return (...path) => isSelected(setsOf(nodes), path);
}

const setsOf = (nodes: readonly FieldNode[]) => nodes.flatMap(({ selectionSet }) => selectionSet ?? []);

function fieldsIn(
  sets: readonly SelectionSetNode[],
  info: GraphQLResolveInfo,
  seen: Set<string>,
): readonly FieldNode[] {
  return sets
    .flatMap(({ selections }) => selections)
    .flatMap((node) => {
      if (isLeftOut(node, info)) return [];
      if (node.kind === Syntax.FIELD) return [node];
      if (node.kind === Syntax.INLINE_FRAGMENT) return fieldsIn([node.selectionSet], info, seen);
      const fragment = seen.has(node.name.value) ? undefined : info.fragments[node.name.value];
      seen.add(node.name.value);
      return fragment ? fieldsIn([fragment.selectionSet], info, seen) : [];
    });
}

export function isLeftOut(node: SelectionNode, { variableValues }: GraphQLResolveInfo): boolean {
  return (
    getDirectiveValues(GraphQLSkipDirective, node, variableValues)?.["if"] === true ||
    getDirectiveValues(GraphQLIncludeDirective, node, variableValues)?.["if"] === false
  );
}
