import { InputError } from "../../errors.ts";
import type { Condition } from "../../rest/api/list-query.ts";
import type { FindRows } from "./list-scan.ts";

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
  return function* (rows) {
    const found: number[] = [];
    for (const [index, row] of rows.entries()) {
      const missing = new Set(words);
      for (const piece of piecesOf(row)) {
        yield;
        const folded = fold(piece);
        for (const word of missing) if (folded.includes(word)) missing.delete(word);
      }
      if (missing.size === 0) found.push(index);
    }
    return found;
  };
}

/** Longest part of a text that is looked at without a pause, and what two of them share: a word is in one as a whole. */
const PIECE = 5_000;
const SHARED = 1_000;

/** What people write about a run. */
function* piecesOf(row: object): Generator<string> {
  // Safe: any object has properties by name.
  const { name, description, tags } = row as Readonly<Record<string, unknown>>;
  for (const text of [name, description, ...(Array.isArray(tags) ? tags : [])]) {
    if (typeof text !== "string") continue;
    yield text.slice(0, PIECE);
    for (let from = PIECE - SHARED; from + SHARED < text.length; from += PIECE - SHARED)
      yield text.slice(from, from + PIECE);
  }
}
