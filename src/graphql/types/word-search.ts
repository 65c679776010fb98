import { InputError } from "../../errors.ts";
import type { CooperativeTask } from "../../util/cooperative-task.ts";
import type { FoldedRows, IsMatch } from "./scan.ts";

/* Search by words. Servers have no full-text search, so the gateway searches the rows of a list. */

const MAX_WORDS_LENGTH = 200;

/** Matches more than 30 consecutive combining marks. Only 30 are kept, because normalization sorts marks in quadratic time (UAX #15). */
const EXCESS_MARKS = /(\p{M}{30})\p{M}+/gu;

/** Number of characters of a string that are searched. */
const MAX_TEXT = 20_000;

/**
 * Number of characters that are normalized at once, and the maximum length of the result: normalization can turn one character into
 * eighteen.
 */
const NORMALIZED_LENGTH = 1_000;
const MAX_FOLDED = 3 * MAX_TEXT;

/** Normalizes a string to lower case and NFKC, so that a search finds equivalent letters. */
function fold(text: string): string {
  const rest = text.slice(0, MAX_TEXT).replace(EXCESS_MARKS, "$1");
  let folded = "";
  for (let from = 0; from < rest.length && folded.length < MAX_FOLDED;) {
    let to = from + NORMALIZED_LENGTH;
    // A letter must be normalized together with its marks.
    while (to < rest.length && /^[\p{M}\p{Cs}]/u.test(rest.slice(to, to + 2))) to++;
    folded += rest.slice(from, to).normalize("NFKC").toLowerCase();
    from = to;
  }
  return folded;
}

export const WORDS_DESCRIPTION = `Words, in any case, that all occur in name, description or tags (of each the first ${MAX_TEXT} characters). Found by a scan: see \`ListScan\`.`;

/**
 * Returns a test that passes if the name, description or tags of a row contain each of the words; null without `text`. Throws `InputError`
 * for a text that is too long or has no word.
 */
export function wordsTest(text: string | null | undefined, argument: string): IsMatch | null {
  if (text == null) return null;
  if (text.length > MAX_WORDS_LENGTH)
    throw new InputError(`${argument}: expected at most ${MAX_WORDS_LENGTH} characters, got ${text.length}`);
  const words = [...new Set(fold(text).split(/\s+/u))].filter(Boolean);
  if (words.length === 0) throw new InputError(`${argument}: expected at least one word, got none`);
  return function* (row, folded) {
    const texts = folded?.get(row) ?? (yield* foldedTextsOf(row, folded));
    for (const word of words) {
      if (!texts.some((each) => each.includes(word))) return false;
      yield;
    }
    return true;
  };
}

/** Minimum total length at which the folded strings of a row are cached, in characters. Folding shorter strings again is cheaper. */
const MIN_KEPT = 1_000;

function* foldedTextsOf(row: object, folded?: FoldedRows): CooperativeTask<readonly string[]> {
  // Safe: any object has properties by name.
  const { name, description, tags } = row as Readonly<Record<string, unknown>>;
  const texts: string[] = [];
  let characters = 0;
  for (const each of [name, description, joined(tags)]) {
    if (typeof each !== "string") continue;
    const text = fold(each);
    texts.push(text);
    characters += text.length;
    yield;
  }
  if (characters < MIN_KEPT) return texts;
  folded?.set(row, texts);
  // A character takes at most two bytes of heap, as much as a charged byte stands for.
  yield folded && characters;
  return texts;
}

/** Joins tags up to the searched length. The separator prevents a match across two tags. */
function joined(tags: unknown): string {
  let text = "";
  for (const tag of Array.isArray(tags) ? tags : []) {
    if (typeof tag === "string") text += `${tag}\n`;
    if (text.length >= MAX_TEXT) break;
  }
  return text;
}
