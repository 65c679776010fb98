import { hash, randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Identity } from "../request-scope.ts";
import { validTraceparent } from "../observability/tracing.ts";

/** With the value `1`, asks for `extensions.explain`. */
export const EXPLAIN_HEADER = "x-rungraph-explain";

export const wantsExplanation = ({ headers }: IncomingMessage): boolean => headers[EXPLAIN_HEADER] === "1";

const TOKEN = /^(?:token|bearer) +([A-Za-z0-9._~+/=-]{1,4096})$/i;
const REQUEST_ID = /^[\w.:-]{1,128}$/;
const SALT = randomBytes(16).toString("hex");

/** Identifies a caller. The salt is random, so the key reveals no token and means nothing to another process. */
const callerKeyOf = (token: string | null, address = ""): string =>
  hash("sha256", token === null ? `${SALT} at ${address}` : `${SALT} with ${token}`, "base64");

/**
 * Reads the caller's identity from the headers: the token to forward (`token` and `Bearer` are accepted; null when it is
 * missing or malformed), the request id for responses, errors and logs, and the trace context.
 */
export function identify({ headers, socket }: IncomingMessage): Identity {
  const { authorization, "x-request-id": requestId, traceparent } = headers;
  const token = TOKEN.exec(authorization?.trim() ?? "")?.[1] ?? null;
  return {
    token,
    callerKey: callerKeyOf(token, socket.remoteAddress),
    requestId: typeof requestId === "string" && REQUEST_ID.test(requestId) ? requestId : randomUUID(),
    traceparent: validTraceparent(traceparent),
  };
}

/** Whether the caller accepts no response that is kept or was requested for another of its operations. */
export const wantsFresh = ({ headers }: IncomingMessage): boolean =>
  /(?:^|[\s,])(?:no-cache|no-store)(?:$|[\s,])/i.test(headers["cache-control"] ?? "");
