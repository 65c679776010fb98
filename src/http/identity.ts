import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isIP, isIPv6 } from "node:net";
import type { CallerRegistry } from "../callers/callers.ts";
import type { Config } from "../config.ts";
import { traceContextIn } from "../observability/tracing.ts";
import type { Identity } from "../callers/request-scope.ts";

/** Matches tokens of any length, because Node limits the length of headers. */
const TOKEN = /^(?:token|bearer) +([A-Za-z0-9._~+/=-]+)$/i;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

export type ResolveIdentity = (request: Identifiable) => Identity;

/**
 * Returns a function that resolves the identity of a request: its caller, its trace context, and its id for responses, errors and logs. The
 * caller is identified by the token (after `token` or `Bearer`) or, if the token is missing or malformed, by the client address.
 */
export function createIdentityResolver(
  callers: CallerRegistry,
  { TRUSTED_PROXIES: isTrusted }: Config,
): ResolveIdentity {
  return (request) => {
    const { authorization, "x-request-id": requestId } = request.headers;
    const token = TOKEN.exec(authorization?.trim() ?? "")?.[1] ?? null;
    return {
      caller: callers.of(token, clientAddress(request, isTrusted)),
      requestId: typeof requestId === "string" && REQUEST_ID.test(requestId) ? requestId : randomUUID(),
      trace: traceContextIn(request.headers),
    };
  };
}

/** Whether the caller accepts neither cached responses nor responses that were requested for another of its operations. */
export const isNoCache = ({ headers }: IncomingMessage): boolean =>
  /(?:^|[\s,])(?:no-cache|no-store)(?:$|[\s,])/i.test(headers["cache-control"] ?? "");

/*
 * The address of a client behind proxies. Own code, because `proxy-addr` reads only `X-Forwarded-For` and accepts strings that are not
 * addresses.
 */

export type Identifiable = Pick<IncomingMessage, "headers" | "socket">;

/**
 * The address of the client: the address of the connection or, behind trusted proxies, the last address in `Forwarded` or `X-Forwarded-For`
 * that is not a trusted proxy. A proxy that names no address is itself the client. An IPv6 address is reduced to its network (64 bits),
 * because one client usually has all addresses of its network.
 */
export function clientAddress({ headers, socket }: Identifiable, isTrusted: Config["TRUSTED_PROXIES"]) {
  let address = plain(socket.remoteAddress ?? "");
  if (!isTrusted?.(address, 0)) return networkOf(address);
  const named = namedBy(headers).toReversed();
  for (let hop = 0; hop < named.length && isTrusted(address, hop); hop++) {
    const next = named[hop] ?? "";
    if (isIP(next) === 0) break;
    address = next;
  }
  return networkOf(address);
}

/**
 * The addresses that proxies have reported, in the order of the header: the nearest proxy's address is last. If both headers are present
 * and disagree, both are ignored, because a client can send one header through a proxy that writes only the other.
 */
function namedBy({ forwarded, "x-forwarded-for": list }: Identifiable["headers"]): string[] {
  const standard = forwarded === undefined ? null : forwarded.split(",").map((hop) => plain(forOf(hop)));
  const usual = list === undefined ? null : [list].flat().join(",").split(",").map(plain);
  if (!standard || !usual) return standard ?? usual ?? [];
  return standard.join() === usual.join() ? usual : [];
}

/** The value of `for` in `for="[2001:db8::1]:4711";proto=http`. */
const forOf = (hop: string): string => /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]*)/i.exec(hop)?.[1] ?? "";

/** An address without quotes, brackets, port and zone. An IPv4-mapped IPv6 address becomes an IPv4 address. */
function plain(text: string): string {
  const bare = text.trim().replaceAll('"', "");
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(bare) ?? [];
  const [address = ""] = (bracketed ?? dotted ?? bare).split("%");
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address;
}

function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  // `URL` normalizes the address to its shortest form, without an IPv4 tail.
  const { hostname } = new URL(`http://[${address}]`);
  const [before = [], after = []] = hostname.slice(1, -1).split("::").map(groupsOf);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}

const groupsOf = (part: string): string[] => part.split(":").filter((group) => group !== "");
