import type { IncomingMessage } from "node:http";

import { Refusal } from "./exchange.ts";

const megabyte = 1_048_576;

/** Reads a body to its end, so that the sender can hear the answer, but keeps no more than is allowed. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // A request without an encoding set yields buffers.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= megabyte) chunks.push(chunk);
  }
  if (length > megabyte) throw new Refusal(413, { detail: `Request body exceeded ${megabyte} bytes.` });
  return Buffer.concat(chunks);
}

/** Decodes a body as JSON; nothing at all counts as an empty object. */
export function decodeBody(bytes: Buffer, contentType = ""): unknown {
  if (bytes.length === 0) return {};
  if (!/^application\/json\b/i.test(contentType)) {
    throw new Refusal(415, { detail: `Unsupported media type "${contentType}" in request.` });
  }
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? cause.message : "Expecting value";
    throw new Refusal(400, { detail: `JSON parse error - ${reason}` });
  }
}

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of a body that must be an object. */
export function fieldsOf(body: unknown): Fields {
  if (isFields(body)) return body;
  if (body === null) throw new Refusal(400, { non_field_errors: ["No data provided"] });
  throw new Refusal(400, {
    non_field_errors: [`Invalid data. Expected a dictionary, but got ${pythonType(body)}.`],
  });
}

const pythonTypes = new Map<string, string>([
  ["string", "str"],
  ["boolean", "bool"],
]);

/** The type's name in error texts, which come from a service written in Python. */
export function pythonType(value: unknown): string {
  if (Array.isArray(value)) return "list";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return pythonTypes.get(typeof value) ?? "NoneType";
}

/** Takes a value as text: numbers are spelled out, anything else but a string is refused. */
export function textField(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw new Refusal(400, { [name]: ["Not a valid string."] });
}
