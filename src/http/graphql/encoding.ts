import type { IncomingMessage } from "node:http";
import type { ExecutionResult, GraphQLError, GraphQLFormattedError } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { rejection } from "../../engine/errors.ts";
import { tryTo, isErrorCode, statusOf } from "../../errors.ts";
import { type JsonScan, MAX_NESTING, scanJson } from "../../rest/api/json-scan.ts";
import { ownCopy } from "../../util/own-copy.ts";

/*
 * GraphQL over HTTP: the parameters of requests, and single results. Own code: Yoga takes 0.2 ms longer for each, reports
 * malformed `variables` of a GET as an internal error, and runs a mutation before it finds that the caller accepts no result.
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

/** Counts the heap that a value will take, in bytes, before it is parsed. Throws `GatewayError` above the limit of the caller. */
export type ChargeHeap = (heapBytes: number) => void;

/** Parses the parameters of a request: from the body of a POST, or from the query string of a GET. Throws `GraphQLError`. */
export function parseParams(
  { method, url = "" }: IncomingMessage,
  body: Buffer | null,
  chargeMemory: ChargeHeap,
): object {
  if (body) return parseObject(body, chargeMemory);
  if (method === "GET") return parseQueryString(url.split("?")[1] ?? "", chargeMemory);
  const http = { status: 405, headers: { Allow: "GET, POST" } };
  throw rejection("Expected GET or POST, got another method.", "BAD_REQUEST", http);
}

/** Parses `query=…&variables={…}`. Ignores other parameters: proxies and caches add their own. */
function parseQueryString(text: string, chargeMemory: ChargeHeap): object {
  if (tryTo(() => decodeURIComponent(text)) === undefined)
    throw badRequest("Expected a query string in percent-encoded UTF-8.");
  const search = new URLSearchParams(text);
  const given = Object.entries(PARAMS).map(([name, type]) => {
    const [value, ...more] = search.getAll(name);
    if (more.length > 0) throw badRequest(`${name}: expected one value, got ${more.length + 1}`);
    // An empty parameter counts as absent.
    // Persisted: a document is kept, and the URL is not.
    return { name, type, value: value ? ownCopy(value) : undefined };
  });
  const objects = given.filter(({ type }) => type === "object");
  chargeMemory(
    objects.reduce((bytes, { value = "" }) => bytes + heapOf(scanJson(Buffer.from(value))), text.length),
  );
  const params = given.map(({ name, type, value }) => {
    if (value === undefined || type === "string") return [name, value];
    const parsed = tryTo(() => JSON.parse(value) as unknown);
    if (parsed !== undefined) return [name, parsed];
    throw badRequest(`${name}: expected ${EXPECTED[type]}, got text that is no JSON`);
  });
  return Object.fromEntries(params);
}

/** The heap that JSON of a caller takes. Throws `GraphQLError` where it is nested too deeply. */
export function heapOf({ heapBytes, isTooDeep }: JsonScan): number {
  if (isTooDeep) throw badRequest(`Expected JSON nested at most ${MAX_NESTING} levels deep, got deeper.`);
  return heapBytes;
}

/** Parses a body that is one JSON object. Throws `GraphQLError`. */
export function parseObject(bytes: Buffer, chargeMemory: ChargeHeap): object {
  const scan = scanJson(bytes);
  chargeMemory(heapOf(scan));
  const expected = "Expected a JSON object as the body, got";
  let value: unknown;
  try {
    value = JSON.parse(scan.ascii ?? UTF8.decode(bytes));
  } catch (error) {
    throw badRequest(
      error instanceof SyntaxError ? `${expected} text that is no JSON` : "Expected a body in UTF-8.",
    );
  }
  if (typeof value === "object" && value && !Array.isArray(value)) return value;
  throw badRequest(`${expected} ${Array.isArray(value) ? "an array: no batches" : typeOf(value)}.`);
}

/**
 * Checks the types of the parameters, and leaves out unknown ones, whose names `onUnknown` receives: clients add their own, such as
 * the `id` of Relay's. Messages do not repeat the caller's names and values.
 */
export function checkParams(
  given: object,
  onUnknown: (names: readonly string[]) => void = () => {},
): OperationParams {
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    const expected = Object.hasOwn(PARAMS, name) ? PARAMS[name as keyof typeof PARAMS] : null;
    if (!expected) unknown.push(name);
    else if (value != null && typeOf(value) !== expected)
      throw badRequest(`${name}: expected ${EXPECTED[expected]}, got ${typeOf(value)}`);
  }
  if (unknown.length === 0) return given;
  onUnknown(unknown);
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(PARAMS, name)));
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

/** `Cache-Control` of what is private to a caller. */
export const CACHE_CONTROL_PRIVATE = "private, no-store";

/** The media type by which the status shows errors. */
export const GRAPHQL_RESPONSE_JSON = "application/graphql-response+json";

export type ResultType = "application/json" | typeof GRAPHQL_RESPONSE_JSON;

/** The form of an incremental result, or of events. */
export interface StreamForm {
  readonly type: "multipart/mixed" | "text/event-stream";
  /** Whether the format of incremental results is that of August 2022. */
  readonly isOlder: boolean;
}

/** `application/json;q=0.5`; the default weight is 1. */
const weightOf = (range: string): number => Number(/;q=([\d.]+)/.exec(range)?.[1] ?? 1);

/** Browsers send seven. */
const MAX_RANGES = 100;

/** The media ranges of an `accept` header by weight, then by order. Ignores all after the first hundred. */
function rangesOf(accept: string): string[] {
  const ranges = accept.replaceAll(/\s/g, "").toLowerCase().split(",", MAX_RANGES);
  return ranges
    .map((range) => ({ range, weight: weightOf(range) }))
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
    .map(({ range }) => range);
}

const RESULT_RANGE = /^(?:\*|application)\/(\*|json|graphql-response\+json)(?:;|$)/;
const OTHER_CHARSET = /charset=(?!("?)utf-8\1(?:;|$))/;

/** The media type of a single result, `application/json` where a wildcard accepts both; null when the caller accepts neither. */
export function resultTypeFor(accept: string | undefined): ResultType | null {
  if (!accept || accept === "*/*" || accept === "application/json") return "application/json";
  for (const range of rangesOf(accept)) {
    const type = OTHER_CHARSET.test(range) ? null : RESULT_RANGE.exec(range)?.[1];
    if (type) return type.startsWith("graphql") ? GRAPHQL_RESPONSE_JSON : "application/json";
  }
  return null;
}

/** Versions of incremental delivery as Apollo Client's `Defer20220824Handler` and `GraphQL17Alpha9Handler` name them. */
const KNOWN_SPEC = /;(?:deferspec="?20220824|incrementalspec="?v0\.2)"?(?:;|$)/;

const isMultipart = (range: string): boolean =>
  range.startsWith("multipart/mixed") && (KNOWN_SPEC.test(range) || !/;\w+spec=/.test(range));

/** The form in which a caller accepts incremental results; null when it accepts none. */
export function streamFormFor(accept: string | undefined): StreamForm | null {
  if (!accept || !/multipart\/mixed|text\/event-stream/i.test(accept)) return null;
  const multipart = rangesOf(accept).find(isMultipart);
  if (multipart) return { type: "multipart/mixed", isOlder: multipart.includes(";deferspec=") };
  return acceptsEvents(accept) ? { type: "text/event-stream", isOlder: false } : null;
}

export const acceptsEvents = (accept: string | undefined): boolean =>
  accept !== undefined && /text\/event-stream(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/i.test(accept);

/** HTTP status and headers of an error, in its `extensions.http`. */
interface HttpDetails {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the status is 200 with `application/json`, as GraphQL over HTTP specifies. */
  readonly spec?: boolean;
}

/** The status and headers of a result, as GraphQL over HTTP specifies. */
export function headOf({ errors = [], data }: ExecutionResult, type: ResultType, requestId: string) {
  const headers: Record<string, string> = {
    "content-type": `${type}; charset=utf-8`,
    "x-request-id": requestId,
    // Queries may come by GET, and their results are private to the caller.
    "cache-control": CACHE_CONTROL_PRIVATE,
  };
  let status = 0;
  for (const error of errors) {
    const http = error.extensions["http"] as HttpDetails | undefined;
    for (const [name, value] of Object.entries(http?.headers ?? {})) headers[name.toLowerCase()] = value;
    if (http?.status && !(http.spec && type === "application/json")) status = Math.max(status, http.status);
  }
  // Without data the operation was not executed: the newer media type reports that by its status.
  if (status === 0 && data === undefined && type === GRAPHQL_RESPONSE_JSON)
    status = Math.max(
      ...errors.map(({ extensions: { code } }) => (isErrorCode(code) ? statusOf(code) : 400)),
    );
  return { status: status || 200, headers };
}

export const jsonOf = ({ errors, data, extensions }: ExecutionResult): object => ({
  ...(errors && { errors: errors.map(toJson) }),
  ...(data !== undefined && { data }),
  ...(extensions && { extensions }),
});

/** An error as JSON, without `extensions.http`. */
export function toJson(error: GraphQLError): GraphQLFormattedError {
  const { extensions: { http: _, ...extensions } = {}, ...json } = error.toJSON();
  return { ...json, ...(Object.keys(extensions).length > 0 && { extensions }) };
}
