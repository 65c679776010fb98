/**
 * Maximum nesting of JSON from callers and from the service, whose documented responses have six levels. Deep values overflow
 * the stack of recursive code.
 */
export const MAX_NESTING = 200;

/** Whether a value is nested more than `levels` deep. */
export const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

/** A text, or one of the words that Python's encoder writes. A text that is not closed is one as well: it is read once. */
const TEXT_OR_WORD = /"[^"\\]*(?:(?:\\.)+[^"\\]*)*"?|-?(?:NaN|Infinity)/gs;

/**
 * Parses JSON in UTF-8. `NaN` and `Infinity`, which Python's encoder writes, read as null. Throws `SyntaxError`, or
 * `RangeError` where such a word stands beside a text with millions of escapes.
 */
export function parseJson(bytes: Buffer): unknown {
  const text = bytes.toString("utf8");
  const isExtended = text.includes("NaN") || text.includes("Infinity");
  const json = isExtended
    ? text.replace(TEXT_OR_WORD, (found) => (found.startsWith('"') ? found : "null"))
    : text;
  return JSON.parse(json.startsWith("\uFEFF") ? json.slice(1) : json);
}
