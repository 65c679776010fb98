import type { ServerResponse } from "node:http";
import { type ErrorCode, statusOf, UpstreamError } from "../errors.ts";

/** Codes of JSON-RPC errors. */
export const JSON_RPC_CODES = { invalidRequest: -32_600, server: -32_000 };

/** The body of a response that rejects a message before its id is read. */
export const jsonRpcError = (code: number, message: string, data: object): string =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message, data } });

interface RejectionRow {
  readonly code: ErrorCode;
  /** The HTTP rule that the request breaks. */
  readonly rule?: Parameters<typeof statusOf>[1];
  readonly message: (maxBytes: number) => string;
}

/** Reasons to reject a request before its document is read. */
const REJECTIONS = {
  "not JSON": {
    code: "BAD_REQUEST",
    rule: "media type",
    message: () => "Expected a body of application/json.",
  },
  "other origin": {
    code: "BAD_REQUEST",
    rule: "origin",
    message: () => "Expected no Origin or one of CORS_ORIGINS, got another.",
  },
  "too long": {
    code: "OPERATION_TOO_LARGE",
    rule: "body too long",
    message: (maxBytes) => `Expected a body of at most ${maxBytes} bytes.`,
  },
  "read before": {
    code: "INTERNAL_SERVER_ERROR",
    message: () => "Expected the body of the request, which the server has read before the gateway.",
  },
} satisfies Record<string, RejectionRow>;

export type Rejection = keyof typeof REJECTIONS;

const GRAPHQL_TYPE = /application\/graphql-response\+json/;

/** The body of a rejection in each protocol. */
const BODIES = {
  graphql: (message: string, extensions: object): string =>
    JSON.stringify({ errors: [{ message, extensions }] }),
  mcp: (message: string, data: object): string => jsonRpcError(JSON_RPC_CODES.server, message, data),
};

export type Protocol = keyof typeof BODIES;

interface RejectionFacts {
  readonly protocol: Protocol;
  readonly rejection: Rejection | UpstreamError;
  readonly requestId: string;
  readonly maxBytes: number;
}

/** Rejects a request and closes its connection. Returns the code of the error. */
export function reject(
  response: ServerResponse,
  { protocol, rejection, requestId, maxBytes }: RejectionFacts,
): ErrorCode {
  const { code, rule, message, retryAfterSeconds } = factsOf(rejection, maxBytes);
  const request = response.req;
  response.writeHead(statusOf(code, rule), {
    // Clients that accept `application/graphql-response+json` do not read a non-200 `application/json` as GraphQL.
    "content-type": `${GRAPHQL_TYPE.exec(request.headers.accept ?? "")?.[0] ?? "application/json"}; charset=utf-8`,
    "x-request-id": requestId,
    connection: "close",
    ...(retryAfterSeconds && { "retry-after": `${retryAfterSeconds}` }),
  });
  const extensions = { code, requestId, ...(retryAfterSeconds && { retryAfterSeconds }) };
  response.end(BODIES[protocol](message, extensions));
  request.resume();
  return code;
}

function factsOf(rejection: Rejection | UpstreamError, maxBytes: number) {
  if (rejection instanceof UpstreamError) {
    const { code, message, facts } = rejection;
    return { code, message, retryAfterSeconds: facts.retryAfterSeconds };
  }
  const { code, rule, message }: RejectionRow = REJECTIONS[rejection];
  return { code, rule, message: message(maxBytes) };
}
