import { expect, test } from "vitest";
import { clientAddress, type Identifiable, parseTrustedProxies } from "../../src/http/client-address.ts";

/** The address of a client whose connection comes from here, with these headers. */
function addressOf(trusted: string, remoteAddress: string, headers: Record<string, string>): string {
  const isTrusted = parseTrustedProxies(trusted);
  if (!isTrusted) throw new TypeError(`not valid: ${trusted}`);
  // Only the address of a socket is read.
  return clientAddress({ headers, socket: { remoteAddress } } as Identifiable, isTrusted);
}

const list = (text: string) => ({ "x-forwarded-for": text });
const standard = (text: string) => ({ forwarded: text });

test.each([
  ["no proxy is trusted", "", "10.0.0.9", list("1.1.1.1"), "10.0.0.9"],
  ["the proxy names the client", "10.0.0.0/8", "10.0.0.9", list("1.1.1.1"), "1.1.1.1"],
  ["the proxy names nobody", "10.0.0.0/8", "10.0.0.9", {}, "10.0.0.9"],
  ["the connection comes past the proxy", "10.0.0.0/8", "9.9.9.9", list("1.1.1.1"), "9.9.9.9"],
  ["the client claims an address", "10.0.0.0/8", "10.0.0.9", list("7.7.7.7, 1.1.1.1"), "1.1.1.1"],
  [
    "the client claims to be a proxy",
    "10.0.0.0/8",
    "10.0.0.9",
    list("7.7.7.7, 10.0.0.1, 1.1.1.1"),
    "1.1.1.1",
  ],
  ["two proxies", "10.0.0.0/8", "10.0.0.9", list("1.1.1.1, 10.0.0.8"), "1.1.1.1"],
  ["a single address is trusted", "10.0.0.9", "10.0.0.9", list("1.1.1.1, 10.0.0.8"), "10.0.0.8"],
  ["one hop", "1", "10.0.0.9", list("7.7.7.7, 1.1.1.1"), "1.1.1.1"],
  ["two hops", "2", "10.0.0.9", list("7.7.7.7, 1.1.1.1, 10.0.0.8"), "1.1.1.1"],
  ["more hops than are named", "9", "10.0.0.9", list("1.1.1.1, 10.0.0.8"), "1.1.1.1"],
  ["garbage", "10.0.0.0/8", "10.0.0.9", list("1.1.1.1, canary"), "10.0.0.9"],
  ["garbage before the client", "10.0.0.0/8", "10.0.0.9", list("canary, 1.1.1.1"), "1.1.1.1"],
  ["a port", "10.0.0.0/8", "10.0.0.9", list("1.1.1.1:4711"), "1.1.1.1"],
  ["IPv4 as IPv6", "10.0.0.0/8", "::ffff:10.0.0.9", list("::ffff:1.1.1.1"), "1.1.1.1"],
  ["a network of IPv6", "::1", "::1", list("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2"],
  ["the same network, written otherwise", "::1", "::1", list("[2001:0DB8:1:2::7]:4711"), "2001:db8:1:2"],
  ["a short IPv6", "::1", "::1", list("2001:db8::1"), "2001:db8:0:0"],
  ["Forwarded", "10.0.0.0/8", "10.0.0.9", standard("for=1.1.1.1;proto=https"), "1.1.1.1"],
  ["Forwarded with quotes", "::1", "::1", standard('proto=https; For="[2001:db8::1]:4711"'), "2001:db8:0:0"],
  ["Forwarded, claimed", "10.0.0.0/8", "10.0.0.9", standard("for=7.7.7.7, for=1.1.1.1"), "1.1.1.1"],
  ["Forwarded without an address", "10.0.0.0/8", "10.0.0.9", standard("for=unknown"), "10.0.0.9"],
  [
    "both, which agree",
    "10.0.0.0/8",
    "10.0.0.9",
    { ...list("1.1.1.1"), ...standard("for=1.1.1.1") },
    "1.1.1.1",
  ],
  [
    "both, one of them claimed",
    "10.0.0.0/8",
    "10.0.0.9",
    { ...list("1.1.1.1"), ...standard("for=7.7.7.7") },
    "10.0.0.9",
  ],
  [
    "the other one claimed",
    "10.0.0.0/8",
    "10.0.0.9",
    { ...list("7.7.7.7"), ...standard("for=1.1.1.1") },
    "10.0.0.9",
  ],
] as const)("the address of a client: %s", (_, trusted, remote, headers, address) => {
  expect(addressOf(trusted, remote, headers)).toBe(address);
});
