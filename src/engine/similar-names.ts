import { suggestionList } from "graphql/jsutils/suggestionList.js";

/** The name that is most similar to another string; null if none is similar. */
export const mostSimilar = (text: string, names: readonly string[]): string | null =>
  suggestionList(text, names)[0] ?? null;
