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
import type { Streamed } from "./types.ts";

/** What `@defer` and `@stream` of one operation say with its variables. */
export interface Deferral {
  /** Whether the document has `@stream`. */
  readonly hasStream: boolean;
  /** What `@defer` says of a fragment; null when it is not deferred. */
  readonly deferredOf: (node: SelectionNode) => { readonly label: string | null } | null;
  readonly streamedOf: (nodes: readonly FieldNode[]) => Streamed | null;
  /** Whether anything in selection sets is deferred or streamed. */
  readonly isWithin: (sets: readonly SelectionSetNode[]) => boolean;
}

const labelOf = ({ label }: Readonly<Record<string, unknown>>): string | null =>
  typeof label === "string" ? label : null;

export function createDeferral(
  schema: GraphQLSchema,
  fragments: Fragments,
  variables: Variables,
  hasStream: boolean,
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
    hasStream,
    deferredOf: (node) => {
      const values = valuesOf(defer, node);
      return values && { label: labelOf(values) };
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
