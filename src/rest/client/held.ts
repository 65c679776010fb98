import { UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";

/** Counts what a scope holds of the service's responses until its end. Both throw `UpstreamError` beyond the limit. */
export interface Held {
  /** Adds bytes as they come. */
  readonly add: (bytes: number) => void;
  /** Checks that more may be read. */
  readonly check: () => void;
}

/** How much all parties may hold, as a multiple of what one may, before those with more than an equal share are refused. */
const PARTIES_IN_ALL = 4;

/** Counts what is held of answers, for each party over all its scopes. Keeps only parties with a scope. */
export function createHeldBytes(maxBytes: number): (scope: RequestScope) => Held {
  const parties = new Map<string, { bytes: number; scopes: number }>();
  let total = 0;
  return (scope) => {
    const party = parties.get(scope.party) ?? { bytes: 0, scopes: 0 };
    parties.set(scope.party, party);
    party.scopes++;
    let own = 0;
    scope.onEnd(() => {
      party.bytes -= own;
      total -= own;
      own = 0;
      if (--party.scopes === 0) parties.delete(scope.party);
    });
    const check = (): void => {
      const isShareTaken = total > maxBytes * PARTIES_IN_ALL && party.bytes > total / parties.size;
      if (party.bytes <= maxBytes && !isShareTaken) return;
      throw new UpstreamError(
        "REQUEST_LIMIT_EXCEEDED",
        `This caller's operations need more than ${maxBytes} bytes of the service's answers at a time; ask for less at once.`,
      );
    };
    return {
      add: (bytes) => {
        if (scope.ended()) return;
        own += bytes;
        party.bytes += bytes;
        total += bytes;
        check();
      },
      check,
    };
  };
}
