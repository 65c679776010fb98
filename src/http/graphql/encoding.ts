import type { ExecutionResult } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { rejection } from "../../engine/errors.ts";
import { isErrorCode, statusOf } from "../../errors.ts";

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
  onError: "string",
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

/** `Cache-Control` of what is private to a caller. */
export const PRIVATE = "private, no-store";

/** The media types of a single result. */
export type ResultType = "application/json" | "application/graphql-response+json";

/** An HTTP response with a complete body. */
export interface TextResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Negotiates the media type of a result by weight, then by order; `application/json` when a wildcard accepts both.
 * Returns null when the caller accepts neither.
 */
export function resultTypeFor(accept: string | undefined): ResultType | null {
  if (!accept || accept === "*/*" || accept === "application/json") return "application/json";
  const ranges = accept.replaceAll(/\s/g, "").toLowerCase().split(",");
  for (const range of ranges.filter((each) => weightOf(each) > 0).toSorted(byWeight)) {
    const [type = "", ...parameters] = range.split(";");
    const charset = parameters.find((parameter) => parameter.includes("charset="));
    if (charset && !/^charset=("?)utf-8\1$/.test(charset)) continue;
    if (type === "*/*" || type === "application/*" || type === "*/json" || type === "application/json")
      return "application/json";
    if (type === "application/graphql-response+json" || type === "*/graphql-response+json")
      return "application/graphql-response+json";
  }
  return null;
}

/** Whether an `accept` header accepts event streams. */
export const acceptsEventStream = (accept: string | undefined): boolean =>
  accept !== undefined && /text\/event-stream(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/i.test(accept);

/** `application/json;q=0.5`; the default weight is 1. */
const weightOf = (range: string): number => Number(/;q=([\d.]+)/.exec(range)?.[1] ?? 1);

const byWeight = (one: string, other: string): number => weightOf(other) - weightOf(one);

/** HTTP status and headers of an error, in its `extensions.http`. */
interface HttpFacts {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the status is 200 with `application/json`, as GraphQL over HTTP specifies. */
  readonly spec?: boolean;
}

/** Encodes a result as an HTTP response, as GraphQL over HTTP specifies. */
export function encodeResult(result: ExecutionResult, type: ResultType, requestId: string): TextResponse {
  const { errors, data, extensions } = result;
  const rest = extensions ? { data, extensions } : { data };
  const headers: Record<string, string> = {
    "content-type": `${type}; charset=utf-8`,
    "x-request-id": requestId,
    // Queries may come by GET, and their results are private to the caller.
    "cache-control": PRIVATE,
  };
  if (!errors) return { status: 200, headers, body: JSON.stringify(rest) };
  let status = 0;
  for (const error of errors) {
    const http = error.extensions["http"] as HttpFacts | undefined;
    for (const [name, value] of Object.entries(http?.headers ?? {})) headers[name.toLowerCase()] = value;
    if (http?.status && !(http.spec && type === "application/json")) status = Math.max(status, http.status);
  }
  // Without data the operation was not executed: the newer media type reports that by its status.
  if (status === 0 && result.data === undefined && type === "application/graphql-response+json")
    status = Math.max(
      ...errors.map(({ extensions: { code } }) => (isErrorCode(code) ? statusOf(code) : 400)),
    );
  return { status: status || 200, headers, body: JSON.stringify({ errors: errors.map(toJson), ...rest }) };
}

/** An error as JSON, without `extensions.http`. */
export function toJson(error: NonNullable<ExecutionResult["errors"]>[number]): object {
  const { extensions: { http: _, ...extensions } = {}, ...json } = error.toJSON();
  return { ...json, ...(Object.keys(extensions).length > 0 && { extensions }) };
}
