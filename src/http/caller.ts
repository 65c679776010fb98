import { hash, randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Identity } from "../request-scope.ts";
import { validTraceparent } from "../observability/tracing.ts";

const TOKEN = /^(?:token|bearer) +([A-Za-z0-9._~+/=-]{1,4096})$/i;
const REQUEST_ID = /^[\w.:-]{1,128}$/;
const SALT = randomBytes(16).toString("hex");

/** What tells callers apart: never the token itself, and nothing that another process could recognize. */
const partyOf = (token: string | null, address = ""): string =>
  hash("sha256", token === null ? `${SALT} at ${address}` : `${SALT} with ${token}`, "base64");

/**
 * Who asks: the token to forward (`token` and `Bearer` are both taken; null when there is none that can be), the id
 * that the answer, errors and logs carry, and the trace.
 */
export function identify({ headers, socket }: IncomingMessage): Identity {
  const { authorization, "x-request-id": requestId, traceparent } = headers;
  const token = TOKEN.exec(authorization?.trim() ?? "")?.[1] ?? null;
  return {
    token,
    party: partyOf(token, socket.remoteAddress),
    requestId: typeof requestId === "string" && REQUEST_ID.test(requestId) ? requestId : randomUUID(),
    traceparent: validTraceparent(traceparent),
  };
}
