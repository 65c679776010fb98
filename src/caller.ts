import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Caller } from "./rest/client.ts";
import { traceparentFor } from "./tracing.ts";

const TOKEN = /^(?:token|bearer) +([A-Za-z0-9._~+/=-]{1,4096})$/i;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

type Identity = Pick<Caller, "token" | "requestId" | "traceparent">;

/**
 * Who asks: the token to forward (`token` and `Bearer` are both taken; null when there is none that can be), the id
 * that the answer, errors and logs carry, and the trace.
 */
function identify(header: (name: string) => unknown): Identity {
  const authorization = header("authorization");
  const requestId = header("x-request-id");
  return {
    token: (typeof authorization === "string" && TOKEN.exec(authorization.trim())?.[1]) || null,
    requestId: typeof requestId === "string" && REQUEST_ID.test(requestId) ? requestId : randomUUID(),
    traceparent: () => traceparentFor(header("traceparent")),
  };
}

export const identifyNode = (headers: IncomingHttpHeaders): Identity => identify((name) => headers[name]);

const identities = new WeakMap<Request, Identity>();

/** The same of a GraphQL request, worked out once. */
export function callerOf(request: Request): Identity {
  const known = identities.get(request);
  if (known) return known;
  const identity = identify((name) => request.headers.get(name));
  identities.set(request, identity);
  return identity;
}
