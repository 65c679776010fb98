import { expect, test } from "vitest";
import { clientAddress, type Identifiable, parseTrustedProxies } from "../../src/http/identity.ts";

/** The address of a client whose connection comes from here, with these headers. */
function addressOf(trusted: string, remoteAddress: string, headers: Record<string, string>): string {
  const isTrusted = parseTrustedProxies(trusted);
  if (!isTrusted) throw new TypeError(`not valid: ${trusted}`);
  // Only the address of a socket is read.
  return clientAddress({ headers, socket: { remoteAddress } } as Identifiable, isTrusted);
}

const list = (text: string) => ({ "x-forwarded-for": text });
const standard = (text: string) => ({ forwarded: text });

const BEHIND = "10.0.0.0/8";
const PROXY = "10.0.0.9";

test.each<[string, object, string, string?, string?]>([
  ["no proxy is trusted", list("1.1.1.1"), PROXY, ""],
  ["the proxy names the client", list("1.1.1.1"), "1.1.1.1"],
  ["the proxy names nobody", {}, PROXY],
  ["the connection comes past the proxy", list("1.1.1.1"), "9.9.9.9", BEHIND, "9.9.9.9"],
  ["the client claims an address", list("7.7.7.7, 1.1.1.1"), "1.1.1.1"],
  ["the client claims to be a proxy", list("7.7.7.7, 10.0.0.1, 1.1.1.1"), "1.1.1.1"],
  ["two proxies", list("1.1.1.1, 10.0.0.8"), "1.1.1.1"],
  ["a single address is trusted", list("1.1.1.1, 10.0.0.8"), "10.0.0.8", PROXY],
  ["one hop", list("7.7.7.7, 1.1.1.1"), "1.1.1.1", "1"],
  ["two hops", list("7.7.7.7, 1.1.1.1, 10.0.0.8"), "1.1.1.1", "2"],
  ["more hops than are named", list("1.1.1.1, 10.0.0.8"), "1.1.1.1", "9"],
  ["garbage", list("1.1.1.1, canary"), PROXY],
  ["garbage before the client", list("canary, 1.1.1.1"), "1.1.1.1"],
  ["a port", list("1.1.1.1:4711"), "1.1.1.1"],
  ["IPv4 as IPv6", list("::ffff:1.1.1.1"), "1.1.1.1", BEHIND, "::ffff:10.0.0.9"],
  ["a network of IPv6", list("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2"],
  ["the same network, written otherwise", list("[2001:0DB8:1:2::7]:4711"), "2001:db8:1:2"],
  ["a short IPv6", list("2001:db8::1"), "2001:db8:0:0"],
  ["Forwarded", standard("for=1.1.1.1;proto=https"), "1.1.1.1"],
  ["Forwarded with quotes", standard('proto=https; For="[2001:db8::1]:4711"'), "2001:db8:0:0", "::1", "::1"],
  ["Forwarded, claimed", standard("for=7.7.7.7, for=1.1.1.1"), "1.1.1.1"],
  ["Forwarded without an address", standard("for=unknown"), PROXY],
  ["both, which agree", { ...list("1.1.1.1"), ...standard("for=1.1.1.1") }, "1.1.1.1"],
  ["both, one of them claimed", { ...list("1.1.1.1"), ...standard("for=7.7.7.7") }, PROXY],
  ["both, the other one claimed", { ...list("7.7.7.7"), ...standard("for=1.1.1.1") }, PROXY],
])("the address of a client: %s", (_, headers, address, trusted = BEHIND, remote = PROXY) => {
  expect(addressOf(trusted, remote, headers as Record<string, string>)).toBe(address);
});
