import { InputError } from "../../errors.ts";
import type { Condition } from "../../rest/api/filter-language.ts";
import { type FindRows, findRows } from "./find-rows.ts";

/* Filters by words. Servers search no texts, so the gateway looks for the words in the rows of a list. */

/** Longest text of words. */
const MAX_LENGTH = 200;

const wordsOf = (text: string): readonly string[] => fold(text).split(/\s+/u).filter(Boolean);

/** Letters that are the same to who searches have one spelling. */
const fold = (text: string): string => text.normalize("NFKC").toLowerCase();

/** Checks the words. Throws `InputError`. */
export function checkWords(text: string, argument: string): void {
  if (text.length > MAX_LENGTH)
    throw new InputError(`${argument}: expected at most ${MAX_LENGTH} characters, got ${text.length}`);
  if (wordsOf(text).length === 0) throw new InputError(`${argument}: expected at least one word, got none`);
}

/** Checks the words of a filter: the server is told nothing of them. Throws `InputError`. */
export function wordsConditions(text: string, argument: string): readonly Condition[] {
  checkWords(text, argument);
  return [];
}

/** Finds the rows that have each of the words in what people write about runs; null without words. */
export function wordsScan(text: string | null | undefined): FindRows | null {
  if (text == null) return null;
  const words = wordsOf(text);
  return findRows((row) => {
    // Safe: any object has properties by name.
    const { name, description, tags } = row as Readonly<Record<string, unknown>>;
    const written = [name, description, ...(Array.isArray(tags) ? tags : [])];
    const folded = written.filter((each) => typeof each === "string").map(fold);
    return words.every((word) => folded.some((each) => each.includes(word)));
  });
}
