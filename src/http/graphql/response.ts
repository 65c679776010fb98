import { isErrorCode, statusOf } from "../../errors.ts";
import type { WrittenResult } from "../../engine/execution.ts";

/** The media types of a result that is sent in one piece. */
export type ResultType = "application/json" | "application/graphql-response+json";

/** An HTTP response in one piece. */
export interface WholeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The media type in which a result is sent: the one that the caller prefers by weight, then by order, and
 * `application/json` where either will do. Null when it accepts neither.
 */
export function resultTypeFor(accept: string | undefined): ResultType | null {
  if (!accept || accept === "*/*") return "application/json";
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

/** `application/json;q=0.5`; without a weight it is 1. */
const weightOf = (range: string): number => Number(/;q=([\d.]+)/.exec(range)?.[1] ?? 1);

const byWeight = (one: string, other: string): number => weightOf(other) - weightOf(one);

/** How HTTP tells of an error, in its `extensions.http`. */
interface HttpFacts {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether `application/json` says 200 all the same, as GraphQL over HTTP has it. */
  readonly spec?: boolean;
}

/** A result as an HTTP response, by the rules of GraphQL over HTTP. */
export function encodeResult(result: WrittenResult, type: ResultType, requestId: string): WholeResponse {
  const { errors, stringify = JSON.stringify, ...rest } = result;
  const headers: Record<string, string> = {
    "content-type": `${type}; charset=utf-8`,
    "x-request-id": requestId,
    // Queries come by GET, too, and their answers are the caller's own.
    "cache-control": "private, no-store",
  };
  if (!errors) return { status: 200, headers, body: stringify(rest) };
  let status = 0;
  for (const { extensions } of errors) {
    const http = extensions["http"] as HttpFacts | undefined;
    for (const [name, value] of Object.entries(http?.headers ?? {})) headers[name.toLowerCase()] = value;
    if (http?.status && !(http.spec && type === "application/json")) status = Math.max(status, http.status);
  }
  // Without data it is no result of an execution: the newer type says so by its status.
  if (status === 0 && result.data === undefined && type === "application/graphql-response+json")
    status = Math.max(
      ...errors.map(({ extensions: { code } }) => (isErrorCode(code) ? statusOf(code) : 400)),
    );
  return { status: status || 200, headers, body: stringify({ errors: errors.map(toJson), ...rest }) };
}

/** An error without what only HTTP is told. */
function toJson(error: NonNullable<WrittenResult["errors"]>[number]): object {
  const { extensions: { http: _, ...extensions } = {}, ...json } = error.toJSON();
  return { ...json, ...(Object.keys(extensions).length > 0 && { extensions }) };
}
