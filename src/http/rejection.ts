import type { ServerResponse } from "node:http";
import { type ErrorCode, statusOf, type UpstreamError } from "../errors.ts";

/** Codes of JSON-RPC errors. */
export const JSON_RPC_CODES = { invalidRequest: -32_600, server: -32_000 };

/** The body of a response that rejects a message before its id is read. */
export const jsonRpcError = (code: number, message: string, data: object): string =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message, data } });

/** Why a request is rejected before its document is read. */
export interface Rejection {
  readonly code: ErrorCode;
  readonly status: number;
  readonly message: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** A rejection for an HTTP rule that the request breaks. */
export const rejectionFor = (
  code: ErrorCode,
  rule: Parameters<typeof statusOf>[1],
  message: string,
): Rejection => ({ code, status: statusOf(code, rule), message });

/** A rejection because there is no place. */
export const rejectionBy = ({ code, message, facts }: UpstreamError): Rejection => ({
  code,
  status: statusOf(code),
  message,
  retryAfterSeconds: facts.retryAfterSeconds,
});

const GRAPHQL_TYPE = /application\/graphql-response\+json/;

/** The body of a rejection in each protocol. */
const BODIES = {
  graphql: (message: string, extensions: object): string =>
    JSON.stringify({ errors: [{ message, extensions }] }),
  mcp: (message: string, data: object): string => jsonRpcError(JSON_RPC_CODES.server, message, data),
};

export type Protocol = keyof typeof BODIES;

/** Rejects a request and closes its connection. */
export function reject(
  response: ServerResponse,
  protocol: Protocol,
  { code, status, message, retryAfterSeconds }: Rejection,
  requestId: string,
): void {
  const request = response.req;
  response.writeHead(status, {
    // Clients that accept `application/graphql-response+json` do not read a non-200 `application/json` as GraphQL.
    "content-type": `${GRAPHQL_TYPE.exec(request.headers.accept ?? "")?.[0] ?? "application/json"}; charset=utf-8`,
    "x-request-id": requestId,
    connection: "close",
    ...(retryAfterSeconds && { "retry-after": `${retryAfterSeconds}` }),
  });
  const extensions = { code, requestId, ...(retryAfterSeconds && { retryAfterSeconds }) };
  response.end(BODIES[protocol](message, extensions));
  request.resume();
}
