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

/** Names that begin so are the gateway's. */
const OWN_PREFIXES = ["CACHE_", "LIVE_", "MAX_", "TRUSTED_", "UPSTREAM_"];

/** What Kubernetes and Docker tell a container of a service such as `upstream`, besides `UPSTREAM_PORT` with a URL. */
const SERVICE_LINK =
  /_SERVICE_HOST$|_SERVICE_PORT(?:_\w+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;
const SERVICE_URL = /^(?:tcp|udp|sctp):\/\//;

/**
 * The faults of a strict check of names: variables that resemble a setting, and unknown ones with a prefix of the
 * settings. A line each, without the value.
 */
export function faultsOfNames(environment: Readonly<Record<string, string | undefined>>): string[] {
  const misspelled = new Map(findMisspelled(environment).map(({ given, meant }) => [given, meant]));
  const isForeign = (name: string) =>
    SERVICE_LINK.test(name) || (name.endsWith("_PORT") && SERVICE_URL.test(environment[name] ?? ""));
  return Object.keys(environment).flatMap((given) => {
    const isOwn = OWN_PREFIXES.some((prefix) => given.startsWith(prefix));
    if (SETTINGS.includes(given) || !(isOwn || misspelled.has(given)) || isForeign(given)) return [];
    const meant = misspelled.get(given) ?? nearestTo(given);
    return [`${given}: expected the name of a setting${meant ? `. Did you mean ${meant}?` : ""}`];
  });
}

/** The setting that an unknown name with a prefix of the settings comes nearest to; null when none is near. */
function nearestTo(name: string): string | null {
  const [nearest] = SETTINGS.map((setting) => ({ setting, edits: editsBetween(name, setting) }))
    .filter(({ edits }) => edits <= name.length / 4)
    .toSorted((a, b) => a.edits - b.edits);
  return nearest?.setting ?? null;
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
