import type { ServerResponse } from "node:http";
import type { GraphQLError, GraphQLErrorExtensions } from "graphql";
import { withExtensions } from "../engine/errors.ts";
import { type ErrorCode, isErrorCode } from "../errors.ts";
import { discardBody } from "./request-body.ts";
import { headOf, toJson } from "./graphql/encoding.ts";
import { GRAPHQL_RESPONSE_JSON } from "./graphql/content-negotiation.ts";

/**
 * Creates the body of an error in each protocol. The id of a JSON-RPC error is null, because the id of the request has not been read yet.
 */
const BODIES = {
  graphql: (message: string, extensions: object): object => ({ errors: [{ message, extensions }] }),
  mcp: (message: string, data: GraphQLErrorExtensions): object => ({
    jsonrpc: "2.0",
    id: null,
    error: { code: data["code"] === "BAD_REQUEST" ? -32_600 : -32_000, message, data },
  }),
};

export type Protocol = keyof typeof BODIES;

export const codeOf = ({ extensions: { code } }: GraphQLError): ErrorCode =>
  isErrorCode(code) ? code : "INTERNAL_SERVER_ERROR";

/** Sends the error of a request that was rejected or has failed. Closes the connection unless the whole request has been received. */
export function reject(response: ServerResponse, protocol: Protocol, cause: GraphQLError, requestId: string) {
  const request = response.req;
  const error = withExtensions(cause, { requestId });
  // The status always shows the error, as the newer media type specifies. Clients that accept the newer type do not parse
  // `application/json` with a status other than 200 as GraphQL, so they receive the newer type.
  const { status, headers } = headOf({ errors: [error] }, GRAPHQL_RESPONSE_JSON, requestId);
  if (!request.headers.accept?.includes(GRAPHQL_RESPONSE_JSON))
    headers["content-type"] = "application/json; charset=utf-8";
  const { retryAfterSeconds } = error.extensions;
  if (retryAfterSeconds !== undefined) headers["retry-after"] = `${retryAfterSeconds}`;
  if (!request.complete) discardBody(response);
  const { message, extensions = {} } = toJson(error);
  response.writeHead(status, headers).end(JSON.stringify(BODIES[protocol](message, extensions)));
}
