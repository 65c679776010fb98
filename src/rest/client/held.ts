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
  const callers = new Map<string, { bytes: number; scopes: number }>();
  let total = 0;
  return (scope) => {
    const callerKey = callers.get(scope.callerKey) ?? { bytes: 0, scopes: 0 };
    callers.set(scope.callerKey, callerKey);
    callerKey.scopes++;
    let own = 0;
    scope.onEnd(() => {
      callerKey.bytes -= own;
      total -= own;
      own = 0;
      if (--callerKey.scopes === 0) callers.delete(scope.callerKey);
    });
    const check = (): void => {
      const isShareTaken = total > maxBytes * PARTIES_IN_ALL && callerKey.bytes > total / callers.size;
      if (callerKey.bytes <= maxBytes && !isShareTaken) return;
      throw new UpstreamError(
        "REQUEST_LIMIT_EXCEEDED",
        `This caller's operations need more than ${maxBytes} bytes of the service's answers at a time; ask for less at once.`,
      );
    };
    return {
      add: (bytes) => {
        if (scope.ended()) return;
        own += bytes;
        callerKey.bytes += bytes;
        total += bytes;
        check();
      },
      check,
    };
  };
}
