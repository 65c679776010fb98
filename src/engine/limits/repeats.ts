import { type DocumentNode, type GraphQLError, Kind, type SelectionSetNode } from "graphql";
import { tooLarge } from "./too-large.ts";

/*
 * Limits the cost of validation before it runs. Validation compares fields with the same response name in pairs, with
 * their arguments and selections, and fragments as well; with both limited it takes milliseconds.
 */

/** Maximum fields with the same response name that have arguments or selections. */
const MAX_REPEATS = 150;

const MAX_FRAGMENTS = 100;

/** The error of a document that is too costly to validate; null when it is not. */
export function validationCostError(document: DocumentNode): GraphQLError | null {
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).length;
  if (fragments > MAX_FRAGMENTS)
    return tooLarge(`Expected at most ${MAX_FRAGMENTS} fragments, got ${fragments}.`);
  const repeats = repeatsIn(document);
  if (repeats <= MAX_REPEATS) return null;
  return tooLarge(
    `Expected one name for at most ${MAX_REPEATS} fields with arguments or selections, got ${repeats}.`,
  );
}

/** Counts the fields with arguments or selections of the most frequent response name. */
function repeatsIn(document: DocumentNode): number {
  const counts = new Map<string, number>();
  const open: SelectionSetNode[] = document.definitions.flatMap((node) =>
    "selectionSet" in node ? [node.selectionSet] : [],
  );
  for (let set = open.pop(); set; set = open.pop()) {
    for (const node of set.selections) {
      if (node.kind === Kind.FRAGMENT_SPREAD) continue;
      if (node.selectionSet) open.push(node.selectionSet);
      if (node.kind !== Kind.FIELD || (!node.selectionSet && !node.arguments?.length)) continue;
      const name = (node.alias ?? node.name).value;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return Math.max(0, ...counts.values());
}
