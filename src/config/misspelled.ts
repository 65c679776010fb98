import { SETTINGS } from "../config.ts";

/** An unknown variable and the setting that it resembles. */
export interface Misspelled {
  readonly given: string;
  readonly meant: string;
}

/**
 * Finds misspelled settings such as `UPSTREM_URL`. Most variables are none of the gateway, so the number of edits depends on the
 * length: `HOME` is not taken for `HOST`.
 */
export function findMisspelled(environment: Readonly<Record<string, string | undefined>>): Misspelled[] {
  return Object.keys(environment).flatMap((given) => {
    if (SETTINGS.includes(given)) return [];
    const meant = SETTINGS.find((setting) => isLike(given.toUpperCase(), setting));
    return meant ? [{ given, meant }] : [];
  });
}

function isLike(name: string, setting: string): boolean {
  // Wrong case, or without the unit: `UPSTREAM_TIMEOUT`.
  if (name === setting || (name.includes("_") && setting === `${name}_MS`)) return true;
  const maxEdits = Math.min(2, Math.floor(Math.min(name.length, setting.length) / 5));
  return Math.abs(name.length - setting.length) <= maxEdits && editsBetween(name, setting) <= maxEdits;
}

/** Levenshtein distance. Own code: none of our dependencies has it. */
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
