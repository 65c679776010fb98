import type { IncomingMessage } from "node:http";

/** A single range. Several would make a multipart response, which no client of logs and archives uses. */
const RANGE = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/;
/** An entity tag or an HTTP date. */
const VALIDATOR =
  /^(?:(?:W\/)?"[\x21\x23-\x7e]{0,200}"|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** The `Range` and `If-Range` headers to forward; null when the whole file is requested. */
export function rangeOf({ headers }: IncomingMessage): Readonly<Record<string, string>> | null {
  const { range, "if-range": validator } = headers;
  if (range === undefined || !RANGE.test(range)) return null;
  if (validator === undefined) return { range };
  // A range without its condition could belong to another version of the file.
  return typeof validator === "string" && VALIDATOR.test(validator) ? { range, "if-range": validator } : null;
}
