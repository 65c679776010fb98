import type { OperationParams } from "../../engine/documents/persisted.ts";
import { rejection } from "../../engine/errors.ts";

/*
 * Reads the GraphQL parameters of a request. Own code: Yoga's parsers report a GET with malformed `variables` as an
 * internal error, use the first of two parameters with the same name, silently replace invalid UTF-8, and accept any
 * type for `operationName` and `documentId`.
 */

type ParamType = "string" | "object";

/** The parameters of a request and their JSON types. */
const PARAMS = {
  query: "string",
  operationName: "string",
  variables: "object",
  extensions: "object",
  documentId: "string",
} as const satisfies Record<keyof OperationParams, ParamType>;

const EXPECTED: Record<ParamType, string> = { string: "a string", object: "a JSON object" };

const badRequest = (message: string) => rejection(message, "BAD_REQUEST");

/** Parses `query=…&variables={…}`. Ignores other parameters: proxies and caches add their own. Throws `GraphQLError`. */
export function parseQueryString(text: string): OperationParams {
  if (!isPercentEncoded(text)) throw badRequest("Expected a query string in percent-encoded UTF-8.");
  const search = new URLSearchParams(text);
  const params = Object.entries(PARAMS).map(([name, type]) => {
    const [value, ...more] = search.getAll(name);
    if (more.length > 0) throw badRequest(`${name}: expected one value, got ${more.length + 1}`);
    // As in Yoga, an empty parameter counts as absent.
    if (!value) return [name, undefined];
    return [name, type === "object" ? parseJson(value, `${name}: expected ${EXPECTED[type]}`) : value];
  });
  return checkParams(Object.fromEntries(params));
}

/** Parses the JSON body of a request. Throws `GraphQLError`. */
export const parseBody = (bytes: Uint8Array): OperationParams => checkParams(parseObject(bytes));

/** Parses a body that is one JSON object. Throws `GraphQLError`. */
export function parseObject(bytes: Uint8Array): object {
  const value = parseJson(decodeUtf8(bytes), "Expected a JSON object as the body");
  const type = typeOf(value);
  if (type === "array") throw badRequest("Expected a JSON object as the body, got an array: no batches.");
  if (type !== "object") throw badRequest(`Expected a JSON object as the body, got ${type}.`);
  return value as object;
}

/** Checks the types of all parameters. Messages do not repeat the caller's names and values. */
function checkParams(params: object): OperationParams {
  for (const [name, value] of Object.entries(params)) {
    if (value == null) continue;
    const expected = Object.hasOwn(PARAMS, name) ? PARAMS[name as keyof typeof PARAMS] : null;
    if (!expected) throw badRequest(`Expected only the parameters ${Object.keys(PARAMS).join(", ")}.`);
    const type = typeOf(value);
    if (type !== expected) throw badRequest(`${name}: expected ${EXPECTED[expected]}, got ${type}`);
  }
  return params;
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw badRequest("Expected a body in UTF-8.");
  }
}

function parseJson(text: string, expected: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest(`${expected}, got text that is no JSON`);
  }
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
