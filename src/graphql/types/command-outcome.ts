import { type ErrorCode as Code, GatewayError } from "../../errors.ts";
import { enumType } from "../core/builder.ts";
import type { RunResource } from "../core/refs.ts";

/* The outcomes of commands on runs. */

export interface Commanded {
  /** The run after the command; null where the service does not show it. */
  readonly run: RunResource | null;
  readonly isSent: boolean;
}

/** A command, or the error of the service. */
export type CommandResult = Commanded | GatewayError;

export const ErrorCode = enumType(
  "ErrorCode",
  "The code of an error, as in `extensions.code`. Values can be added in a minor release.",
  {
    UNAUTHENTICATED: "The request has no token, or the service rejects it. Log in and send the new token.",
    FORBIDDEN: "The service does not allow this to the user.",
    BAD_CREDENTIALS: "The service rejected the login. Ask for the password again.",
    NOT_FOUND: "The record does not exist.",
    BAD_USER_INPUT:
      "The gateway or the service rejected an argument or variable. If it was the gateway, nothing was sent. Correct the input.",
    CONFLICT: "The state of the record does not allow this. Read the record again.",
    RATE_LIMITED:
      "The service throttles requests, or this token has reached its number of concurrent operations. Try again after `retryAfterSeconds`. Reads wait for pauses that end before their deadline, and are then retried. All reads of an operation that would come too late are one error, with `paths`.",
    UPSTREAM_ERROR: "The service failed.",
    UPSTREAM_TIMEOUT:
      "The service did not respond in time. With `outcome: unknown` a write may have taken effect: read before you repeat it.",
    UPSTREAM_UNAVAILABLE:
      "The service cannot be reached or is not ready. Reads were retried. Try again later. With `outcome: unknown` a write may have taken effect: read before you repeat it.",
    UPSTREAM_BAD_RESPONSE:
      "The response of the service is not valid, or longer than is read: `MAX_JSON_BYTES`, or 100,000 items.",
    UPSTREAM_UNSUPPORTED: "This server does not offer the operation.",
    CAPABILITY_UNAVAILABLE:
      "The field needs a capability that this server does not have. `gateway.capabilities` lists those that it has.",
    REQUEST_LIMIT_EXCEEDED:
      "The operation needs more upstream requests or more memory, of responses, for its document or for what a subscription keeps, than allowed. What was read is returned; what most fields wait for is requested first. `unsentRequests` counts the requests that were not sent. Select less at once.",
    PAGE_LIMIT_REACHED:
      "A field would read more than 100 pages: request fewer items at once. Or too many rows have equal values of the order to be read page by page: use larger pages or another order.",
    SERVICE_OVERLOADED: "The gateway is overloaded. Try again later.",
    OPERATION_TOO_LARGE:
      "The request or its result has more tokens, fields or bytes than allowed. Select less at once.",
    OPERATION_TOO_DEEP: "The document is nested deeper than `MAX_DEPTH`.",
    REQUEST_CANCELLED: "The client closed the connection.",
    INTERNAL_SERVER_ERROR: "The gateway has a fault. Report it with the `requestId`.",
    BAD_REQUEST:
      "Not a GraphQL request: no JSON, no UTF-8, no query, a parameter of the wrong type or given twice, a batch, a mutation by GET, or another type of operation than a tool runs. At `/mcp` also a page of another origin.",
    OPERATION_RESOLUTION_FAILURE:
      "`operationName` is not an operation of the document, or is missing although the document has several.",
    GRAPHQL_PARSE_FAILED: "The document has a syntax error.",
    GRAPHQL_VALIDATION_FAILED: "The document is not valid against the schema.",
    PERSISTED_QUERY_NOT_FOUND: "The hash is not known, or not any more. Send the document with it.",
    PERSISTED_QUERY_MISMATCH: "The hash is not that of the document.",
    PERSISTED_QUERY_NOT_IN_LIST: "Only trusted documents run here, and the hash is not one of theirs.",
    PERSISTED_QUERY_ID_REQUIRED:
      "Only trusted documents run here. Send the hash of one instead of a document.",
  } satisfies Record<Code, string>,
);

export const CommandOutcome = enumType(
  "CommandOutcome",
  "The outcome of a command. Values can be added in a minor release.",
  {
    DONE: "The service accepted it.",
    NOT_FOUND: "The run does not exist, or not for the caller.",
    NOT_SENT: "It was not sent: the run had finished, or `code` says why.",
    REFUSED: "The service refused it.",
    UNKNOWN: "It may have taken effect. Read the run before you repeat it.",
  },
);

export function outcomeOf(result: CommandResult): typeof CommandOutcome.$inferType {
  if (!(result instanceof GatewayError)) return result.isSent ? "DONE" : "NOT_SENT";
  const { outcome, upstream } = result.details;
  if (outcome) return "UNKNOWN";
  if (result.code === "NOT_FOUND") return "NOT_FOUND";
  // Before a command is sent, the record is read.
  return upstream?.method !== "GET" && upstream?.status !== undefined ? "REFUSED" : "NOT_SENT";
}
