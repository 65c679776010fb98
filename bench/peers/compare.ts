const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const shown = (value: unknown) => (JSON.stringify(value) ?? "nothing").slice(0, 80);

/**
 * Describes the first difference between two responses, such as `data.experiment.name: expected "a", got null`. Returns null if they are
 * equal.
 */
export function difference(expected: unknown, got: unknown, path = "data"): string | null {
  if (Object.is(expected, got)) return null;
  if (!isObject(expected) || !isObject(got) || Array.isArray(expected) !== Array.isArray(got)) {
    return `${path}: expected ${shown(expected)}, got ${shown(got)}`;
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(got)])) {
    const found = difference(expected[key], got[key], `${path}.${key}`);
    if (found !== null) return found;
  }
  return null;
}
