import { expect, test } from "vitest";
import { clientAddress, type Identifiable, parseTrustedProxies } from "../../src/http/identity.ts";
import ADDRESSES from "./client-addresses.json" with { type: "json" };

/** The address of a client whose connection comes from here, with these headers. */
function addressOf(trusted: string, remoteAddress: string, headers: object): string {
  const isTrusted = parseTrustedProxies(trusted);
  if (!isTrusted) throw new TypeError(`not valid: ${trusted}`);
  // Only the address of a socket is read.
  return clientAddress({ headers, socket: { remoteAddress } } as Identifiable, isTrusted);
}

test.each(ADDRESSES)(
  "the address of a client: $what",
  ({ headers, address, trusted = "10.0.0.0/8", remote = "10.0.0.9" }) => {
    expect(addressOf(trusted, remote, headers)).toBe(address);
  },
);
