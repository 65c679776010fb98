import { type DocumentNode, type GraphQLError, Kind, type SelectionSetNode } from "graphql";
import { tooLarge } from "./too-large.ts";

/*
 * Validation compares fields of one name pairwise, with their arguments and selections, and fragments likewise. Both are
 * bounded before, so that validating takes milliseconds.
 */

/** Fields of one name with arguments or selections. */
const MOST_REPEATS = 150;

const MOST_FRAGMENTS = 100;

/** What makes a document too costly to validate; null for others. */
export function costlyToValidate(document: DocumentNode): GraphQLError | null {
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).length;
  if (fragments > MOST_FRAGMENTS)
    return tooLarge(`Expected at most ${MOST_FRAGMENTS} fragments, got ${fragments}.`);
  const repeats = repeatsIn(document);
  if (repeats <= MOST_REPEATS) return null;
  return tooLarge(
    `Expected one name for at most ${MOST_REPEATS} fields with arguments or selections, got ${repeats}.`,
  );
}

/** How often the most frequent response name stands for a field with arguments or selections. */
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
