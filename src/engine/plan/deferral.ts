import {
  type FieldNode,
  getDirectiveValues,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import type { Variables } from "../field-source.ts";
import type { Fragments } from "../limits/selection.ts";
import type { Streamed, Usage } from "./types.ts";

/*
 * What `@defer` and `@stream` make of an operation, worked out when it is compiled. As in graphql-js 17: a field that both a
 * deferred fragment and what comes before it select is not deferred; what several deferred fragments select is delivered
 * once, for all of them.
 */

/** What the directives of one operation say with its variables. */
export interface Deferral {
  /** Begins the deferred fragment of a node; null when it is not deferred. */
  readonly begin: (node: SelectionNode, parent: Usage | null) => Usage | null;
  readonly streamedOf: (nodes: readonly FieldNode[]) => Streamed | null;
  /** Whether anything in selection sets is deferred or streamed. */
  readonly isWithin: (sets: readonly SelectionSetNode[]) => boolean;
}

const labelOf = ({ label }: Readonly<Record<string, unknown>>): string | null =>
  typeof label === "string" ? label : null;

export function createDeferral(schema: GraphQLSchema, fragments: Fragments, variables: Variables): Deferral {
  const defer = schema.getDirective("defer");
  const stream = schema.getDirective("stream");
  let begun = 0;

  const valuesOf = (
    directive: typeof defer,
    node: SelectionNode,
  ): Readonly<Record<string, unknown>> | null => {
    const values =
      directive && node.directives?.length ? getDirectiveValues(directive, node, variables) : null;
    return values?.["if"] === false ? null : (values ?? null);
  };

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
    begin: (node, parent) => {
      const values = valuesOf(defer, node);
      return values && { index: begun++, label: labelOf(values), parent };
    },
    streamedOf: ([node]) => {
      const values = node ? valuesOf(stream, node) : null;
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

/** Fields by response name. */
export type NodesByKey = Map<string, FieldNode[]>;

/** The deferred fragments that select the nodes of a field, one for each node; null: none. */
export interface Tags {
  readonly usages: readonly (Usage | null)[];
  /** The deferred fragments that the field itself is delivered with. */
  readonly delivered: readonly Usage[];
}

/** The collected fields of one object type. */
export interface Collected {
  readonly nodesByKey: NodesByKey;
  /** For each field the deferred fragments of its nodes. Empty where nothing is deferred. */
  readonly usagesOf: ReadonlyMap<readonly FieldNode[], readonly (Usage | null)[]>;
  /** The deferred fragments that begin here. */
  readonly begun: readonly Usage[];
}

interface Divided {
  readonly fields: NodesByKey;
  readonly groups: readonly { readonly usages: readonly Usage[]; readonly nodesByKey: NodesByKey }[];
}

/** Divides collected fields into those that are delivered now and groups that are delivered later. */
export function divide({ nodesByKey, usagesOf }: Collected, delivered: readonly Usage[]): Divided {
  const fields: NodesByKey = new Map();
  const groups = new Map<string, Divided["groups"][number]>();
  for (const [key, nodes] of nodesByKey) {
    const usages = outermost(usagesOf.get(nodes) ?? []);
    const name = nameOf(usages);
    if (name === nameOf(delivered)) {
      fields.set(key, nodes);
      continue;
    }
    const group = groups.get(name) ?? { usages, nodesByKey: new Map() };
    groups.set(name, group);
    group.nodesByKey.set(key, nodes);
  }
  return { fields, groups: [...groups.values()] };
}

/** What is to be remembered of a field for the selections below it; null where all its nodes are delivered alike. */
export function tagsOf(
  usages: readonly (Usage | null)[] | undefined,
  delivered: readonly Usage[],
): Tags | null {
  return usages?.some((usage) => usage !== usages[0]) ? { usages, delivered } : null;
}

const nameOf = (usages: readonly Usage[]): string =>
  usages
    .map(({ index }) => index)
    .toSorted((a, b) => a - b)
    .join();

/** The deferred fragments without those that another of them contains; none when a node is not deferred. */
function outermost(usages: readonly (Usage | null)[]): readonly Usage[] {
  const all = new Set<Usage>();
  for (const usage of usages) {
    if (!usage) return [];
    all.add(usage);
  }
  return [...all].filter((usage) => {
    for (let above = usage.parent; above; above = above.parent) if (all.has(above)) return false;
    return true;
  });
}
