import { UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";

/** Counts the bytes of responses that a scope holds until it ends. Both methods throw `UpstreamError` above the limit. */
export interface Held {
  /** Adds received bytes. */
  readonly add: (bytes: number) => void;
  /** Checks the limit before more is read. */
  readonly check: () => void;
}

/** The limit for all callers, as a multiple of the limit for one. Above it, callers with more than an equal share fail. */
const TOTAL_FACTOR = 4;

/** Limits the bytes of responses that callers hold, over all scopes of each. Forgets callers without an open scope. */
export function createHeldBytes(maxBytes: number): (scope: RequestScope) => Held {
  const callers = new Map<string, { bytes: number; scopes: number }>();
  let total = 0;
  return (scope) => {
    const caller = callers.get(scope.callerKey) ?? { bytes: 0, scopes: 0 };
    callers.set(scope.callerKey, caller);
    caller.scopes++;
    let own = 0;
    scope.onEnd(() => {
      caller.bytes -= own;
      total -= own;
      own = 0;
      if (--caller.scopes === 0) callers.delete(scope.callerKey);
    });
    const check = (): void => {
      const exceedsShare = total > maxBytes * TOTAL_FACTOR && caller.bytes > total / callers.size;
      if (caller.bytes <= maxBytes && !exceedsShare) return;
      throw new UpstreamError(
        "REQUEST_LIMIT_EXCEEDED",
        `This caller's operations need more than ${maxBytes} bytes of the service's answers at a time; ask for less at once.`,
      );
    };
    return {
      add: (bytes) => {
        if (scope.ended()) return;
        own += bytes;
        caller.bytes += bytes;
        total += bytes;
        check();
      },
      check,
    };
  };
}
