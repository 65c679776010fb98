import { type DocumentNode, type GraphQLError, Kind, type SelectionSetNode } from "graphql";
import { tooLarge } from "./too-large.ts";

/*
 * Limits the cost of validation before it runs. Validation compares fields with the same response name in pairs, with
 * their arguments and selections, and fragments as well. graphql-js gives up after 100 ms of it; with both limited it takes
 * 20 ms at most.
 */

/** Maximum fields with the same response name that have arguments or selections. */
const MAX_REPEATS = 150;

/** Maximum names of fragments, whether defined or spread. */
const MAX_FRAGMENTS = 100;

/** The error of a document that is too costly to validate; null when it is not. */
export function validationCostError(document: DocumentNode): GraphQLError | null {
  const { fragments, repeats } = countIn(document);
  if (fragments > MAX_FRAGMENTS)
    return tooLarge(`Expected at most ${MAX_FRAGMENTS} fragments, got ${fragments}.`);
  if (repeats <= MAX_REPEATS) return null;
  return tooLarge(
    `Expected one name for at most ${MAX_REPEATS} fields with arguments or selections, got ${repeats}.`,
  );
}

/** Counts the names of fragments, and the fields with arguments or selections of the most frequent response name. */
function countIn({ definitions }: DocumentNode): { readonly fragments: number; readonly repeats: number } {
  const counts = new Map<string, number>();
  const fragments = new Set<string>();
  const open: SelectionSetNode[] = [];
  for (const node of definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.add(node.name.value);
    if ("selectionSet" in node) open.push(node.selectionSet);
  }
  for (let set = open.pop(); set; set = open.pop()) {
    for (const node of set.selections) {
      if (node.kind === Kind.FRAGMENT_SPREAD) {
        fragments.add(node.name.value);
        continue;
      }
      if (node.selectionSet) open.push(node.selectionSet);
      if (node.kind !== Kind.FIELD || (!node.selectionSet && !node.arguments?.length)) continue;
      const name = (node.alias ?? node.name).value;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return { fragments: fragments.size, repeats: Math.max(0, ...counts.values()) };
}
