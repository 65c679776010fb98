import { UpstreamError } from "../../errors.ts";

/** Counts the upstream requests of one operation. */
export interface RequestBudget {
  readonly isSpent: () => boolean;
  readonly spend: () => void;
  /** The error of a request that is not sent. One for all of them: it tells how many there are in the end. */
  readonly refuse: () => UpstreamError;
}

export function createRequestBudget(requests: number): RequestBudget {
  let spent = 0;
  let unsent = 0;
  let exceeded: UpstreamError | null = null;
  return {
    isSpent: () => spent >= requests,
    spend: () => void spent++,
    refuse: () => {
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
