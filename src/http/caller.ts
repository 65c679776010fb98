import { hash, randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
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

/** The caller of the last request of a connection: nearly all have the same, and hashing takes as long as routing. */
interface LastCaller {
  readonly authorization: string | undefined;
  readonly token: string | null;
  readonly callerKey: string;
}

const LAST_CALLER = Symbol("the caller of the last request");

declare module "node:net" {
  interface Socket {
    [LAST_CALLER]?: LastCaller;
  }
}

function callerOf(authorization: string | undefined, socket: Socket): LastCaller {
  const last = socket[LAST_CALLER];
  if (last && last.authorization === authorization) return last;
  const token = TOKEN.exec(authorization?.trim() ?? "")?.[1] ?? null;
  const callerKey = callerKeyOf(token, socket.remoteAddress);
  return (socket[LAST_CALLER] = { authorization, token, callerKey });
}

/**
 * Reads the caller's identity from the headers: the token to forward (`token` and `Bearer` are accepted; null when it is
 * missing or malformed), the request id for responses, errors and logs, and the trace context.
 */
export function identify({ headers, socket }: IncomingMessage): Identity {
  const { authorization, "x-request-id": requestId, traceparent } = headers;
  const { token, callerKey } = callerOf(authorization, socket);
  return {
    token,
    callerKey,
    requestId: typeof requestId === "string" && REQUEST_ID.test(requestId) ? requestId : randomUUID(),
    traceparent: validTraceparent(traceparent),
  };
}

/** Whether the caller accepts no response that is kept or was requested for another of its operations. */
export const wantsFresh = ({ headers }: IncomingMessage): boolean =>
  /(?:^|[\s,])(?:no-cache|no-store)(?:$|[\s,])/i.test(headers["cache-control"] ?? "");
