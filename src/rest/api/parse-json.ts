import { randomUUID } from "node:crypto";
import { isDigit, scanJson } from "./json-scan.ts";
import { isObject, rawJSON } from "./record.ts";

/** Prefix of a string that replaces an integer which no number can represent. It is random, so no other string begins with it. */
const MARK = randomUUID().slice(0, 13);

/**
 * Parses JSON in UTF-8. The second argument is its scan, if the JSON was already scanned. `NaN` and `Infinity`, which Python's encoder
 * writes, and values that are nested too deeply become null. Integers that a number cannot represent are converted by `integerOf`. Throws
 * `SyntaxError`.
 */
export function parseJson(json: Buffer, { replacements, ascii } = scanJson(json)): unknown {
  if (replacements.length === 0) return JSON.parse(ascii ?? withoutOrderMark(json.toString("utf8")));
  const value: unknown = JSON.parse(withoutOrderMark(withReplacements(json, replacements)));
  if (!rawJSON) return value;
  const toNumber = rawJSON;
  return unmarked(value, (mark) => {
    const index = Number(mark.slice(MARK.length));
    return toNumber(json.toString("latin1", replacements[index], replacements[index + 1]));
  });
}

/** Removes a byte order mark, which `JSON.parse` rejects. */
const withoutOrderMark = (text: string): string => (text.startsWith("\uFEFF") ? text.slice(1) : text);

/** Copies JSON with all replacements (a string for an integer, otherwise null) into one buffer. There may be a million of them. */
function withReplacements(json: Buffer, replacements: readonly number[]): string {
  const result = Buffer.allocUnsafe(json.length + replacements.length * MARK.length);
  let length = 0;
  const put = (source: Buffer, from: number, to: number): void => {
    // For a few bytes, a loop is faster than `copy`.
    if (to - from > SHORT_COPY_BYTES) length += source.copy(result, length, from, to);
    // Safe: the source contains these bytes.
    else for (let at = from; at < to; at++) result[length++] = source[at] as number;
  };
  let from = 0;
  for (let index = 0; index < replacements.length; index += 2) {
    const [start = 0, end = 0] = [replacements[index], replacements[index + 1]];
    put(json, from, start);
    from = end;
    if (!isDigit(json[end - 1])) {
      put(NULL, 0, NULL.length);
      continue;
    }
    put(QUOTE, 0, 1);
    // Before Node.js 21 the result has a string with the digits.
    if (rawJSON) length += result.write(`${MARK}${index}`, length, "latin1");
    else put(json, start, end);
    put(QUOTE, 0, 1);
  }
  put(json, from, json.length);
  return result.toString("utf8", 0, length);
}

const SHORT_COPY_BYTES = 64;
const QUOTE = Buffer.from('"');
const NULL = Buffer.from("null");

/** Replaces the strings that stand for integers. A reviver would take thirty times as long as parsing, and four times the heap. */
function unmarked(value: unknown, integerFor: (mark: string) => object): unknown {
  if (typeof value === "string") return value.startsWith(MARK) ? integerFor(value) : value;
  if (Array.isArray(value)) value.forEach((item, index) => void (value[index] = unmarked(item, integerFor)));
  else if (isObject(value)) for (const name in value) value[name] = unmarked(value[name], integerFor);
  return value;
}

/** Whether a value is nested more than `levels` deep. For values that were not scanned as JSON: YAML, and literals of GraphQL documents. */
export const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));
