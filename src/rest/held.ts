import { UpstreamError } from "./errors.ts";
import type { RequestScope } from "./scope.ts";

/** What a scope holds of the service's answers until its end. */
export interface Held {
  readonly add: (bytes: number) => void;
  /** Throws `UpstreamError` when the party holds more than one may: then nothing more is read for it. */
  readonly check: () => void;
}

/** Counts the bytes of answers that are held, for each party over all its scopes. Holds only parties with a scope. */
export function createHeldBytes(maxBytes: number): (scope: RequestScope) => Held {
  const parties = new Map<string, { bytes: number; scopes: number }>();
  return (scope) => {
    const party = parties.get(scope.party) ?? { bytes: 0, scopes: 0 };
    parties.set(scope.party, party);
    party.scopes++;
    let own = 0;
    scope.onEnd(() => {
      party.bytes -= own;
      own = 0;
      if (--party.scopes === 0) parties.delete(scope.party);
    });
    return {
      add: (bytes) => {
        if (scope.ended()) return;
        own += bytes;
        party.bytes += bytes;
      },
      check: () => {
        if (party.bytes <= maxBytes) return;
        throw new UpstreamError(
          "REQUEST_LIMIT_EXCEEDED",
          `This caller's operations need more than ${maxBytes} bytes of the service's answers at a time; ask for less at once.`,
        );
      },
    };
  };
}
