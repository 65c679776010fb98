import { fileURLToPath } from "node:url";

/** An error that nobody expected, as a log may hold it. */
export interface ErrorReport {
  /** What kind of error was thrown: `TypeError`. */
  readonly error: string;
  /** The field of the answer that it cost, as in `group.hptuning.raw`. */
  readonly field?: string;
  /** The calls that led there, innermost first: `dist/graphql/group.js:12:5`. */
  readonly at: readonly string[];
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAX_CALLS = 10;
const MAX_FIELD_LENGTH = 200;

/**
 * Where to look for the cause of an error. Own code: of what pino's serializer tells, the message and the error's own
 * keys can hold what was asked or answered, and the calls the place of the installation.
 */
export function reportOf(thrown: unknown, path: readonly (string | number)[] = []): ErrorReport {
  const lines = thrown instanceof Error ? (thrown.stack ?? "").split("\n") : [];
  return {
    error: thrown instanceof Error ? thrown.constructor.name : typeof thrown,
    ...(path.length > 0 && { field: path.join(".").slice(0, MAX_FIELD_LENGTH) }),
    at: lines.flatMap(placeOf).slice(0, MAX_CALLS),
  };
}

function placeOf(line: string): string[] {
  const place = /^ {4}at .*?([^\s()]+:\d+:\d+)\)?$/.exec(line)?.[1]?.replace("file://", "");
  if (!place) return [];
  if (place.startsWith("node:")) return [place];
  if (place.startsWith(ROOT)) return [place.slice(ROOT.length)];
  const [, ...inside] = place.split("node_modules/");
  return inside.slice(-1);
}
