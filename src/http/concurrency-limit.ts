import { UpstreamError } from "../errors.ts";
import { TransientMap } from "../transient.ts";

export interface ConcurrencySettings {
  /** Maximum at a time, over all callers. */
  readonly total: number;
  /** Maximum at a time for one caller. */
  readonly perCaller: number;
}

/** The setting that is exceeded. */
export type ExceededLimit = keyof ConcurrencySettings;

export interface ConcurrencyLimit {
  /** The limit that one more would exceed; null when there is room. */
  readonly exceededBy: (callerKey: string) => ExceededLimit | null;
  /** Counts one more, whether or not there is room. Returns a function that releases it; later calls do nothing. */
  readonly acquire: (callerKey: string) => () => void;
  /** How many are active. */
  readonly active: () => number;
}

/** Limits how many operations or downloads are active at a time, in total and per caller. */
export function createConcurrencyLimit({ total, perCaller }: ConcurrencySettings): ConcurrencyLimit {
  const byCaller = new TransientMap<number>();
  let active = 0;
  const change = (callerKey: string, by: 1 | -1): void => {
    active += by;
    const own = (byCaller.get(callerKey) ?? 0) + by;
    if (own === 0) byCaller.delete(callerKey);
    else byCaller.set(callerKey, own);
  };
  return {
    exceededBy: (callerKey) =>
      (byCaller.get(callerKey) ?? 0) >= perCaller ? "perCaller" : active >= total ? "total" : null,
    acquire: (callerKey) => {
      let isReleased = false;
      change(callerKey, 1);
      return () => {
        if (isReleased) return;
        isReleased = true;
        change(callerKey, -1);
      };
    },
    active: () => active,
  };
}

/** Acquires one more of what is limited, named in the plural. Throws `UpstreamError` when there is no room. */
export function acquireOrThrow(limit: ConcurrencyLimit, callerKey: string, what: string): () => void {
  const exceeded = limit.exceededBy(callerKey);
  if (exceeded === "total")
    throw new UpstreamError("SERVICE_OVERLOADED", `The gateway has as many ${what} as it may have.`);
  if (exceeded)
    throw new UpstreamError("RATE_LIMITED", `This caller has as many ${what} as one may have.`, {
      retryAfterSeconds: 1,
    });
  return limit.acquire(callerKey);
}
