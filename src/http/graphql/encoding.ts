import type { ExecutionResult, GraphQLError, GraphQLFormattedError } from "graphql";
import { isErrorCode, statusOf } from "../../errors.ts";
import { GRAPHQL_RESPONSE_JSON, type ResultType } from "./content-negotiation.ts";

/** `Cache-Control` of responses that are private to a caller. */
export const CACHE_CONTROL_PRIVATE = "private, no-store";

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
    // Even the result of a GET is private to the caller.
    "cache-control": CACHE_CONTROL_PRIVATE,
  };
  let status = 0;
  for (const error of errors) {
    const http = error.extensions["http"] as HttpDetails | undefined;
    for (const [name, value] of Object.entries(http?.headers ?? {})) headers[name.toLowerCase()] = value;
    if (http?.status && !(http.spec && type === "application/json")) status = Math.max(status, http.status);
  }
  // Without data the operation was not executed. Results of the newer media type report a request error by the HTTP status.
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
