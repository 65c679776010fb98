import type { ServerResponse } from "node:http";
import type { GraphQLError, GraphQLErrorExtensions } from "graphql";
import { withExtensions } from "../engine/errors.ts";
import { type ErrorCode, isErrorCode, statusOf } from "../errors.ts";

const GRAPHQL_TYPE = /application\/graphql-response\+json/;

/** The body of an error in each protocol. That of JSON-RPC is about a message whose id is not read. */
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

/** Answers a request that is not run, or fails. Closes its connection unless all of the request has come. */
export function reject(
  response: ServerResponse,
  protocol: Protocol,
  error: GraphQLError,
  requestId: string,
): void {
  const request = response.req;
  const { http, ...extensions } = withExtensions(error, { requestId }).extensions;
  const { retryAfterSeconds } = extensions;
  // Safe: only `rejection` gives it.
  const { status, headers } = (http ?? {}) as { readonly status?: number; readonly headers?: object };
  response.writeHead(status ?? statusOf(codeOf(error)), {
    // Clients that accept `application/graphql-response+json` do not read a non-200 `application/json` as GraphQL.
    "content-type": `${GRAPHQL_TYPE.exec(request.headers.accept ?? "")?.[0] ?? "application/json"}; charset=utf-8`,
    "x-request-id": requestId,
    ...(!request.complete && { connection: "close" }),
    ...(retryAfterSeconds !== undefined && { "retry-after": `${retryAfterSeconds}` }),
    ...headers,
  });
  response.end(JSON.stringify(BODIES[protocol](error.message, extensions)));
  request.resume();
}
