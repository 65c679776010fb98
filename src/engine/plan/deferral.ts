import {
  getDirectiveValues,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import type { Variables } from "../field-source.ts";
import type { Fragments } from "../limits/selection.ts";
import type { Deferral } from "./types.ts";

const labelOf = ({ label }: Readonly<Record<string, unknown>>): string | null =>
  typeof label === "string" ? label : null;

export function createDeferral(
  schema: GraphQLSchema,
  fragments: Fragments,
  variables: Variables,
  { selectionSet }: OperationDefinitionNode,
): Deferral {
  const defer = schema.getDirective("defer");
  const stream = schema.getDirective("stream");

  const valuesOf = (
    directive: typeof defer,
    node: SelectionNode,
  ): Readonly<Record<string, unknown>> | null => {
    const values =
      directive && node.directives?.length ? getDirectiveValues(directive, node, variables) : null;
    return values?.["if"] === false ? null : (values ?? null);
  };

  // What is spread again may be deferred at the same place. Its list would then come twice.
  const again = spreadAgain(selectionSet, fragments);
  const known = new Map<SelectionSetNode, boolean>();
  const isIn = (set: SelectionSetNode): boolean => {
    const before = known.get(set);
    if (before !== undefined) return before;
    const found = set.selections.some((node) => {
      if (valuesOf(defer, node) ?? valuesOf(stream, node)) return true;
      const part = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      return part?.selectionSet ? isIn(part.selectionSet) : false;
    });
    known.set(set, found);
    return found;
  };

  return {
    deferredOf: (node) => {
      const values = valuesOf(defer, node);
      return values && { label: labelOf(values) };
    },
    streamedOf: ([node]) => {
      const values = node && !again.has(node) ? valuesOf(stream, node) : null;
      if (!stream || !node || !values) return null;
      return {
        label: labelOf(values),
        initialCount: (given) => {
          const count = Number(getDirectiveValues(stream, node, given)?.["initialCount"]);
          if (count >= 0) return count;
          throw new GraphQLError(`initialCount: expected 0 or more, got ${count}`, { nodes: node });
        },
      };
    },
    isWithin: (sets) => sets.some(isIn),
  };
}

/** The fields within fragments that are spread more than once. */
function spreadAgain(set: SelectionSetNode, fragments: Fragments): ReadonlySet<SelectionNode> {
  const spread = new Map<string, number>();
  const again = new Set<SelectionNode>();
  const walk = ({ selections }: SelectionSetNode, isAgain: boolean): void => {
    for (const node of selections) {
      if (isAgain) again.add(node);
      if (node.kind !== Kind.FRAGMENT_SPREAD) {
        if (node.selectionSet) walk(node.selectionSet, isAgain);
        continue;
      }
      const name = node.name.value;
      const times = (spread.get(name) ?? 0) + 1;
      spread.set(name, times);
      const fragment = fragments.get(name);
      if (fragment && times <= 2) walk(fragment.selectionSet, isAgain || times === 2);
    }
  };
  walk(set, false);
  return again;
}
