import {
  type FieldNode,
  getArgumentValues,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  isObjectType,
  Kind as Syntax,
  type SelectionSetNode,
} from "graphql";
import type { Context } from "./context.ts";
import type { Resource } from "./resource.ts";
import { isLeftOut, selectedBelow } from "./selection.ts";
import { keysOf, type Sourced, type StartChild } from "./source.ts";

/** What a selection needs of the resource it is made on. */
export interface SelectionNeeds {
  /** Keys of its record. */
  readonly keys: string[];
  /** Reads that need only its address. */
  readonly children: ChildRead[];
}

interface ChildRead {
  readonly start: (resource: Resource, context: Context) => Promise<unknown>;
  /** Whether what was read shows that the resource exists. */
  readonly proves: (read: unknown) => boolean;
}

/** Executors keep one array of field nodes for all items of a list: a selection is worked out once for each place. */
const known = new WeakMap<readonly FieldNode[], Map<string, SelectionNeeds>>();

/** What is selected of a type below the field that is being resolved. */
export function selectionNeeds(info: GraphQLResolveInfo, typeName: string): SelectionNeeds {
  const byType = known.get(info.fieldNodes) ?? new Map<string, SelectionNeeds>();
  known.set(info.fieldNodes, byType);
  const before = byType.get(typeName);
  if (before) return before;
  const needs: SelectionNeeds = { keys: [], children: [] };
  const type = info.schema.getType(typeName);
  if (isObjectType(type)) {
    const seen = new Set<string>();
    for (const { selectionSet } of info.fieldNodes) {
      if (selectionSet) collect(selectionSet, type, info, needs, seen);
    }
  }
  byType.set(typeName, needs);
  return needs;
}

/** Each fragment is walked once, as the executor does it: spreads that double at every step must cost no time. */
function collect(
  set: SelectionSetNode,
  type: GraphQLObjectType,
  info: GraphQLResolveInfo,
  needs: SelectionNeeds,
  seen: Set<string>,
): void {
  for (const node of set.selections) {
    if (isLeftOut(node, info)) continue;
    if (node.kind === Syntax.FIELD) {
      addField(node, type, info, needs);
      continue;
    }
    if (node.kind === Syntax.FRAGMENT_SPREAD) {
      if (seen.has(node.name.value)) continue;
      seen.add(node.name.value);
    }
    const part = node.kind === Syntax.FRAGMENT_SPREAD ? info.fragments[node.name.value] : node;
    const on = part?.typeCondition?.name.value;
    const applies = !on || on === type.name || type.getInterfaces().some(({ name }) => name === on);
    if (part && applies) collect(part.selectionSet, type, info, needs, seen);
  }
}

function addField(
  node: FieldNode,
  type: GraphQLObjectType,
  info: GraphQLResolveInfo,
  needs: SelectionNeeds,
): void {
  const field = type.getFields()[node.name.value];
  const { source } = (field?.extensions ?? {}) as Sourced;
  if (!field || !source) return;
  needs.keys.push(...keysOf(source));
  if (source.kind !== "child") return;
  // The field was found on the type of the resource, and its arguments were coerced for it.
  const start = source.start as StartChild;
  const args = getArgumentValues(field, node, info.variableValues);
  needs.children.push({
    start: (resource, context) => start(resource, args, context, selectedBelow([node], info)),
    proves: source.proves as ChildRead["proves"],
  });
}
