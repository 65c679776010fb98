import { isErrorCode, statusOf } from "../../errors.ts";
import type { WrittenResult } from "../../engine/execution.ts";

/** `Cache-Control` of what is private to a caller. */
export const PRIVATE = "private, no-store";

/** The media types of a single result. */
export type ResultType = "application/json" | "application/graphql-response+json";

/** An HTTP response with a complete body. */
export interface WholeResponse {
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
export function encodeResult(result: WrittenResult, type: ResultType, requestId: string): WholeResponse {
  const { errors, data, extensions, stringify = JSON.stringify } = result;
  const rest = extensions ? { data, extensions } : { data };
  const headers: Record<string, string> = {
    "content-type": `${type}; charset=utf-8`,
    "x-request-id": requestId,
    // Queries may come by GET, and their results are private to the caller.
    "cache-control": PRIVATE,
  };
  if (!errors) return { status: 200, headers, body: stringify(rest) };
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
  return { status: status || 200, headers, body: stringify({ errors: errors.map(toJson), ...rest }) };
}

/** An error as JSON, without `extensions.http`. */
export function toJson(error: NonNullable<WrittenResult["errors"]>[number]): object {
  const { extensions: { http: _, ...extensions } = {}, ...json } = error.toJSON();
  return { ...json, ...(Object.keys(extensions).length > 0 && { extensions }) };
}
