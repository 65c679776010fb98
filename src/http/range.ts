import type { IncomingMessage } from "node:http";

/** One range. Several make an answer of many parts, which no reader of logs and archives asks for. */
const RANGE = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/;
/** An entity tag or a date. */
const VALIDATOR =
  /^(?:(?:W\/)?"[\x21\x23-\x7e]{0,200}"|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** `Range` and `If-Range` of a request as they are passed on; null when all of the file is to come. */
export function rangeOf({ headers }: IncomingMessage): Readonly<Record<string, string>> | null {
  const { range, "if-range": validator } = headers;
  if (range === undefined || !RANGE.test(range)) return null;
  if (validator === undefined) return { range };
  // Without its condition a range could be one of another file.
  return typeof validator === "string" && VALIDATOR.test(validator) ? { range, "if-range": validator } : null;
}
