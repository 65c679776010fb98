import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

import type { Answer } from "./exchange.ts";

/** Answers a file as the web server in front of real servers does: with its length, an entity tag, and one range. */
export function file(
  bytes: Buffer,
  { range, "if-range": validator }: IncomingHttpHeaders,
  headers: Readonly<Record<string, string>>,
): Answer {
  const etag = `"${createHash("sha1").update(bytes).digest("hex")}"`;
  const told = { ...headers, etag, "accept-ranges": "bytes" };
  const whole = {
    status: 200,
    headers: { ...told, "content-length": String(bytes.length) },
    body: bytes,
  };
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(range ?? "") ?? [];
  if (first === "" && last === "") return whole;
  if (validator !== undefined && validator !== etag) return whole;
  const start = first === "" ? Math.max(0, bytes.length - Number(last)) : Number(first);
  const end = first === "" || last === "" ? bytes.length : Math.min(bytes.length, Number(last) + 1);
  if (start >= end)
    return { status: 416, headers: { ...told, "content-range": `bytes */${bytes.length}` }, body: "" };
  return {
    status: 206,
    headers: {
      ...told,
      "content-length": String(end - start),
      "content-range": `bytes ${start}-${end - 1}/${bytes.length}`,
    },
    body: bytes.subarray(start, end),
  };
}
