import { randomUUID } from "node:crypto";
import { type Caller } from "./rest/client.ts";

const TOKEN = /^(?:token|bearer) +([A-Za-z0-9._~+/=-]{1,4096})$/i;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

type Identity = Pick<Caller, "token" | "requestId">;

/**
 * Who asks: the token to forward (`token` and `Bearer` are both taken; null when there is none that can be), and the
 * id that the answer, errors and logs carry.
 */
export const identify = (authorization: string | null | undefined, requestId: unknown): Identity => ({
  token: TOKEN.exec(authorization?.trim() ?? "")?.[1] ?? null,
  requestId: typeof requestId === "string" && REQUEST_ID.test(requestId) ? requestId : randomUUID(),
});

const identities = new WeakMap<Request, Identity>();

/** The same of a GraphQL request, worked out once. */
export function callerOf(request: Request): Identity {
  const known = identities.get(request);
  if (known) return known;
  const identity = identify(request.headers.get("authorization"), request.headers.get("x-request-id"));
  identities.set(request, identity);
  return identity;
}
