import {
  type FieldNode,
  getDirectiveValues,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import type { IsSelected, Variables } from "../field-extensions.ts";
import { appliesTo, type Fragments } from "../limits.ts";

interface Collected {
  /** The nodes of each field, by response name. */
  readonly nodesByKey: ReadonlyMap<string, FieldNode[]>;
  readonly begun: readonly { readonly label: string | null; readonly set: SelectionSetNode }[];
}

export interface CollectSettings {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
  /** Whether a node is executed, according to its `@skip` and `@include`. */
  readonly shouldIncludeNode: (node: SelectionNode) => boolean;
  /** The operation's `@defer` and `@stream` directives; null if the whole result is delivered at once. */
  readonly deferral: ReturnType<typeof createIncrementalDirectives> | null;
}

/** For a selection set that only spreads one fragment, the selection set of the fragment; otherwise the set itself. */
export function withoutSpread(
  { schema, fragments, shouldIncludeNode, deferral }: CollectSettings,
  type: GraphQLObjectType,
  set: SelectionSetNode,
): SelectionSetNode {
  const [only, ...others] = set.selections;
  if (only?.kind !== Kind.FRAGMENT_SPREAD || others.length > 0 || !shouldIncludeNode(only)) return set;
  if (deferral?.deferredOf(only)) return set;
  const fragment = fragments.get(only.name.value);
  return fragment && appliesTo(schema, fragment.typeCondition.name.value, type) ? fragment.selectionSet : set;
}

export const setsOf = (nodes: readonly FieldNode[]) =>
  nodes.flatMap(({ selectionSet }) => selectionSet ?? []);

/**
 * The fields that selection sets select on a type, by response name. A null type stands for any type. Each fragment is visited at its first
 * spread only.
 */
export function collectFields(
  { schema, fragments, shouldIncludeNode, deferral }: CollectSettings,
  type: GraphQLObjectType | null,
  sets: readonly SelectionSetNode[],
): Collected {
  const nodesByKey = new Map<string, FieldNode[]>();
  const begun = new Map<unknown, Collected["begun"][number]>();
  const seen = new Set<string>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const node of selections) {
      if (!shouldIncludeNode(node)) continue;
      if (node.kind === Kind.FIELD) {
        const key = (node.alias ?? node.name).value;
        const nodes = nodesByKey.get(key) ?? [];
        if (nodes.push(node) === 1) nodesByKey.set(key, nodes);
        continue;
      }
      const isSpread = node.kind === Kind.FRAGMENT_SPREAD;
      const part = isSpread ? fragments.get(node.name.value) : node;
      if (!part || (type && !appliesTo(schema, part.typeCondition?.name.value, type))) continue;
      const deferred = deferral?.deferredOf(node);
      // The key is the label, because labels are unique. Without a label, the key is the fragment, because a second spread would deliver
      // the same data again.
      if (deferred) begun.set(deferred.label ?? part, { label: deferred.label, set: part.selectionSet });
      else if (!isSpread || !seen.has(node.name.value)) {
        if (isSpread) seen.add(node.name.value);
        collect(part.selectionSet);
      }
    }
  };
  for (const set of sets) collect(set);
  return { nodesByKey, begun: [...begun.values()] };
}

/**
 * Returns a function that tests whether a path of fields is selected below a field, deferred or not. Ignores type conditions, because equal
 * names mean equal things in this schema.
 */
export function selectedBelow(settings: CollectSettings, nodes: readonly FieldNode[]): IsSelected {
  const whole = { ...settings, deferral: null };
  const isSelected = (sets: readonly SelectionSetNode[], [name, ...rest]: readonly string[]): boolean => {
    const fields = [...collectFields(whole, null, sets).nodesByKey.values()]
      .flat()
      .filter((field) => field.name.value === name);
    return rest.length === 0 ? fields.length > 0 : isSelected(setsOf(fields), rest);
  };
  return (...path) => isSelected(setsOf(nodes), path);
}

const labelOf = ({ label }: Readonly<Record<string, unknown>>): string | null =>
  typeof label === "string" ? label : null;

/** The arguments of `@defer` and `@stream` in one operation, with the values of its variables. */
export function createIncrementalDirectives(
  schema: GraphQLSchema,
  fragments: Fragments,
  variables: Variables,
  { selectionSet }: OperationDefinitionNode,
) {
  const defer = schema.getDirective("defer");
  const stream = schema.getDirective("stream");

  const valuesOf = (directive: typeof defer, node: SelectionNode) => {
    const values = directive && node.directives?.length && getDirectiveValues(directive, node, variables);
    return values && values["if"] !== false ? values : null;
  };

  // Lists in fragments that are spread several times are not streamed: if the fragment is deferred twice at the same path, its list would
  // be streamed twice.
  const again = spreadAgain(selectionSet, fragments);
  return {
    /** The arguments of `@defer` on a fragment; null when the fragment is not deferred. */
    deferredOf: (node: SelectionNode) => {
      const values = valuesOf(defer, node);
      return values && { label: labelOf(values) };
    },
    /** The arguments of `@stream` on a list; null when the list is not streamed. `initialCount` items are delivered with the list itself. */
    streamedOf: ([node]: readonly FieldNode[]) => {
      const values = node && !again.has(node) ? valuesOf(stream, node) : null;
      if (!stream || !node || !values) return null;
      return {
        label: labelOf(values),
        initialCount: (given: Variables): number => {
          const count = Number(getDirectiveValues(stream, node, given)?.["initialCount"]);
          if (count >= 0) return count;
          throw new GraphQLError(`initialCount: expected 0 or more, got ${count}`, { nodes: node });
        },
      };
    },
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
