import { UpstreamError } from "../../errors.ts";

/** Limits the upstream requests of one operation. */
export interface RequestBudget {
  readonly isSpent: () => boolean;
  readonly spend: () => void;
  /** Counts an unsent request and returns its error. All share one error, which reports the final number. */
  readonly exceed: () => UpstreamError;
}

export function createRequestBudget(requests: number): RequestBudget {
  let spent = 0;
  let unsent = 0;
  let exceeded: UpstreamError | null = null;
  return {
    isSpent: () => spent >= requests,
    spend: () => void spent++,
    exceed: () => {
      unsent++;
      return (exceeded ??= new UpstreamError(
        "REQUEST_LIMIT_EXCEEDED",
        `This operation needs more than ${requests} requests to the service; ask for less at once.`,
        {
          get unsentRequests() {
            return unsent;
          },
        },
      ));
    },
  };
}
