import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Callers } from "../caller.ts";
import { validTraceparent } from "../observability/tracing.ts";
import type { Identity } from "../request-scope.ts";
import { clientAddress, type Identifiable, parseTrustedProxies } from "./client-address.ts";

/** With the value `1`, asks for `extensions.explain`. */
export const EXPLAIN_HEADER = "x-rungraph-explain";

export const wantsExplanation = ({ headers }: IncomingMessage): boolean => headers[EXPLAIN_HEADER] === "1";

const TOKEN = /^(?:token|bearer) +([A-Za-z0-9._~+/=-]{1,4096})$/i;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** Finds who asks. */
export type Identify = (request: Identifiable) => Identity;

/**
 * Reads the identity of a request: the token to forward (`token` and `Bearer` are accepted; null when it is missing or
 * malformed), the caller that it belongs to, the request id for responses, errors and logs, and the trace context.
 */
export function createIdentify(callers: Callers, trustedProxies: string): Identify {
  const isTrusted = parseTrustedProxies(trustedProxies);
  if (!isTrusted) throw new TypeError("TRUSTED_PROXIES was not checked");
  return (request) => {
    const { authorization, "x-request-id": requestId, traceparent } = request.headers;
    const token = TOKEN.exec(authorization?.trim() ?? "")?.[1] ?? null;
    return {
      caller: callers.of(token, clientAddress(request, isTrusted)),
      requestId: typeof requestId === "string" && REQUEST_ID.test(requestId) ? requestId : randomUUID(),
      traceparent: validTraceparent(traceparent),
    };
  };
}

/** Whether the caller accepts no response that is kept or was requested for another of its operations. */
export const wantsFresh = ({ headers }: IncomingMessage): boolean =>
  /(?:^|[\s,])(?:no-cache|no-store)(?:$|[\s,])/i.test(headers["cache-control"] ?? "");
