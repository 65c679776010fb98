import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import type { IsSelected } from "../field-source.ts";
import { appliesTo, type Fragments } from "../limits/selection.ts";
import type { Deferral } from "./types.ts";

/** The fields that selection sets select on a type, and the deferred fragments that begin there. */
interface Collected {
  /** By response name. */
  readonly nodesByKey: ReadonlyMap<string, FieldNode[]>;
  readonly begun: readonly { readonly label: string | null; readonly set: SelectionSetNode }[];
}

export interface CollectSettings {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
  /** Whether `@skip` or `@include` leaves a node out. */
  readonly isLeftOut: (node: SelectionNode) => boolean;
  /** What is delivered later; null for nothing. */
  readonly deferral: Deferral | null;
}

/** The selection set of a fragment, for a set that only spreads it. */
export function withoutSpread(
  { schema, fragments, isLeftOut, deferral }: CollectSettings,
  type: GraphQLObjectType,
  set: SelectionSetNode,
): SelectionSetNode {
  const [only, ...others] = set.selections;
  if (only?.kind !== Kind.FRAGMENT_SPREAD || others.length > 0 || isLeftOut(only)) return set;
  if (deferral?.deferredOf(only)) return set;
  const fragment = fragments.get(only.name.value);
  return fragment && appliesTo(schema, fragment.typeCondition.name.value, type) ? fragment.selectionSet : set;
}

export const setsOf = (nodes: readonly FieldNode[]) =>
  nodes.flatMap(({ selectionSet }) => selectionSet ?? []);

/** The fields that selection sets select on a type (null: on any), by response name. Each fragment counts at its first spread only. */
export function collectFields(
  { schema, fragments, isLeftOut, deferral }: CollectSettings,
  type: GraphQLObjectType | null,
  sets: readonly SelectionSetNode[],
): Collected {
  const nodesByKey = new Map<string, FieldNode[]>();
  const begun: Collected["begun"][number][] = [];
  const seen = new Set<string>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const node of selections) {
      if (isLeftOut(node)) continue;
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
      if (deferred) begun.push({ label: deferred.label, set: part.selectionSet });
      else if (!isSpread || !seen.has(node.name.value)) {
        if (isSpread) seen.add(node.name.value);
        collect(part.selectionSet);
      }
    }
  };
  for (const set of sets) collect(set);
  return { nodesByKey, begun };
}

/** What is selected below a field, deferred or not. Ignores type conditions: no two types here use one name for different things. */
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
