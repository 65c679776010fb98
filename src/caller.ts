import { randomUUID } from "node:crypto";
import { type Caller } from "./rest/client.ts";

const TOKEN = /^(?:token|bearer) +([A-Za-z0-9._~+/=-]{1,4096})$/i;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The token that a caller sent; `token` and `Bearer` are both taken. Null when there is none that can be forwarded. */
const tokenOf = (request: Request): string | null =>
  TOKEN.exec(request.headers.get("authorization")?.trim() ?? "")?.[1] ?? null;

type Identity = Pick<Caller, "token" | "requestId">;

const identities = new WeakMap<Request, Identity>();

/** Who asks, worked out once for each HTTP request: the token, and the id that answers and logs carry. */
export function callerOf(request: Request): Identity {
  const known = identities.get(request);
  if (known) return known;
  const given = request.headers.get("x-request-id") ?? "";
  const identity = { token: tokenOf(request), requestId: REQUEST_ID.test(given) ? given : randomUUID() };
  identities.set(request, identity);
  return identity;
}
