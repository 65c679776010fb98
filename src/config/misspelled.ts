import { SETTINGS } from "../config.ts";

/** A variable that is no setting, and the setting that it resembles. */
export interface Misspelled {
  readonly given: string;
  readonly meant: string;
}

/**
 * Variables that were probably meant as settings: `UPSTREM_URL`. Most of an environment is not ours, so only names of
 * some length count, and few letters may differ: `HOME` is no `HOST`.
 */
export function findMisspelled(environment: Readonly<Record<string, string | undefined>>): Misspelled[] {
  return Object.keys(environment).flatMap((given) => {
    if (SETTINGS.includes(given)) return [];
    const meant = SETTINGS.find((setting) => isLike(given.toUpperCase(), setting));
    return meant ? [{ given, meant }] : [];
  });
}

function isLike(name: string, setting: string): boolean {
  // Another case, or without its unit: `UPSTREAM_TIMEOUT`.
  if (name === setting || (name.includes("_") && setting === `${name}_MS`)) return true;
  const mostEdits = Math.min(2, Math.floor(Math.min(name.length, setting.length) / 5));
  return Math.abs(name.length - setting.length) <= mostEdits && editsBetween(name, setting) <= mostEdits;
}

/** How many letters must be added, left out or replaced (Levenshtein). Own code: no dependency of ours offers it. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
