import { fileURLToPath } from "node:url";

/** An unexpected error, reduced to what is safe to log. */
export interface ErrorReport {
  /** The class of the error: `TypeError`. */
  readonly error: string;
  /** The path of the failed field: `group.hptuning.raw`. */
  readonly field?: string;
  /** Stack frames, innermost first: `dist/graphql/group.js:12:5`. */
  readonly at: readonly string[];
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAX_CALLS = 10;
const MAX_FIELD_LENGTH = 200;

/**
 * Creates the report of an error. Own code: pino's serializer logs the message and own keys of an error, which can contain
 * data of requests and responses, and absolute paths of the installation.
 */
export function reportOf(error: unknown, path: readonly (string | number)[] = []): ErrorReport {
  const lines = error instanceof Error ? (error.stack ?? "").split("\n") : [];
  return {
    error: error instanceof Error ? error.constructor.name : typeof error,
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
