import { readFileSync } from "node:fs";
import { suggestionList } from "graphql/jsutils/suggestionList.js";
import { systemCodeOf } from "../errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Matches names of the gateway's settings, including settings that were removed in 0.3. An unknown name that matches is an error, because a
 * misspelt setting could leave the gateway unprotected, or without its upstream service.
 */
const OURS =
  /^(?:UPSTREAM|MAX|LIVE|TRUSTED)_|^(?:APQ|RELOAD_INTERVAL_MS|WORKERS|READ_TIMEOUT_MS|(?:DOCUMENT_)?CACHE_BYTES|REDIS_(?:URL|URL_FILE|CA_FILE|PREFIX|TIMEOUT_MS|SHARED_READS))$/i;

/** Matches variables that Kubernetes and Docker add for a service with a name such as `upstream`: they set `UPSTREAM_PORT` to a URL. */
const SERVICE_LINK = /_SERVICE_HOST$|_SERVICE_PORT(?:_|$)|_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_|$)|$)/;

/**
 * Returns the value of each setting. Any setting may also be given as `NAME_FILE`, the path of a file that contains its value. Such a name
 * is never ambiguous: because `UPSTREAM_CA_FILE` is itself a setting, no setting is called `UPSTREAM_CA`. No returned issue contains a
 * value, a path or the content of a file.
 */
export function readNames(environment: Environment, settings: readonly string[]) {
  // A blank value counts as not set.
  const given = Object.entries(environment).filter(([, value]) => value?.trim());
  const values: Record<string, string | undefined> = Object.fromEntries(given);
  /** The variable of each setting whose value comes from a file. */
  const files = new Map<string, string>();
  const issues: string[] = [];
  for (const [name, value = ""] of given) {
    if (settings.includes(name)) continue;
    const setting = name.replace(/_FILE$/, "");
    if (settings.includes(setting)) {
      const { text, issue } = values[setting] ? { issue: `got ${setting} as well` } : readFile(value);
      if (issue) issues.push(`${name}: expected a file with ${setting}, ${issue}`);
      else files.set(setting, name);
      values[setting] ??= text;
    } else if (OURS.test(name) && !SERVICE_LINK.test(name)) {
      const [nearest] = suggestionList(name.toUpperCase(), settings);
      const hint = nearest === undefined ? "" : `did you mean ${nearest}? Or `;
      issues.push(`${name}: unknown setting; ${hint}see docs/settings.md`);
    }
  }
  return { values, files, issues };
}

/**
 * Finds variables that are probably misspelt settings, such as `CORS_ORIGIN` or `CACHE_TTL`. They may belong to another program, so they
 * are only worth a warning. Returns one line for each.
 */
export const suspiciousNames = (environment: Environment, settings: readonly string[]): string[] =>
  Object.keys(environment).flatMap((name) => {
    if (name.length < MIN_SUSPICIOUS_LENGTH || OURS.test(name)) return [];
    const plain = name.toUpperCase().replace(/_FILE$/, "");
    if (settings.includes(name) || settings.includes(name.replace(/_FILE$/, ""))) return [];
    const meant = settings.find(
      (each) => isOneEditAway(plain, each) || (plain.includes("_") && each.startsWith(`${plain}_`)),
    );
    return meant ? [`${name} is not a setting and has no effect; did you mean ${meant}?`] : [];
  });

/** Minimum length of a suspicious name. Shorter names, such as `PORTS`, resemble settings by chance. */
const MIN_SUSPICIOUS_LENGTH = 6;

/**
 * Whether two names are equal, or differ by one character, or by two swapped neighbours. `suggestionList` would match variables of many other
 * programs.
 */
function isOneEditAway(left: string, right: string): boolean {
  let start = 0;
  while (start < left.length && left[start] === right[start]) start++;
  let [leftEnd, rightEnd] = [left.length, right.length];
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) {
    leftEnd--;
    rightEnd--;
  }
  const [here, there] = [left.slice(start, leftEnd), right.slice(start, rightEnd)];
  if (here.length <= 1 && there.length <= 1) return true;
  return here.length === 2 && here === `${there[1]}${there[0]}` && there.length === 2;
}

/** Returns the content of a file without its final newline, or an issue. */
function readFile(path: string): { readonly text?: string; readonly issue?: string } {
  try {
    const text = readFileSync(path, "utf8").replace(/\r?\n$/, "");
    return text.trim() ? { text } : { issue: "got an empty one" };
  } catch (error) {
    return { issue: `got one that cannot be read (${systemCodeOf(error)})` };
  }
}
