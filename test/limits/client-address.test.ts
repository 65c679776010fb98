import { expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { clientAddress, type Identifiable } from "../../src/http/identity.ts";
import ADDRESSES from "./client-addresses.json" with { type: "json" };

/** The client address for a connection from this machine with these headers. */
function addressOf(trusted: string, remoteAddress: string, headers: object): string {
  const { TRUSTED_PROXIES: isTrusted } = readConfig({ TRUSTED_PROXIES: trusted });
  // Safe: only the address of a socket is read.
  return clientAddress({ headers, socket: { remoteAddress } } as Identifiable, isTrusted);
}

test.each(ADDRESSES)(
  "determines the client address: $case",
  ({ headers, address, trusted = "10.0.0.0/8", remote = "10.0.0.9" }) => {
    expect(addressOf(trusted, remote, headers)).toBe(address);
  },
);
