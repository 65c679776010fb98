import { CircuitState, type IBreaker } from "cockatiel";

interface Second {
  /** Which second since 1970. */
  at: number;
  failures: number;
  total: number;
}

/** How many seconds are looked at, how many exchanges they must hold, and which share of them must have failed. */
export interface BreakerSettings {
  readonly seconds: number;
  readonly least: number;
  readonly share: number;
}

/**
 * Opens when of the exchanges of the last seconds a share or more failed. Own code: cockatiel's SamplingBreaker keeps
 * windows of any age while nothing happens, and opens only above its threshold.
 */
export function createBreaker({ seconds, least, share }: BreakerSettings): IBreaker {
  let recent: Second[] = [];

  const note = (failures: 0 | 1): void => {
    const at = Math.floor(Date.now() / 1000);
    recent = recent.filter((second) => second.at > at - seconds);
    const known = recent.at(-1);
    const now = known?.at === at ? known : { at, failures: 0, total: 0 };
    if (now !== known) recent.push(now);
    now.failures += failures;
    now.total++;
  };

  return {
    state: null,
    success: (circuit) => {
      if (circuit === CircuitState.HalfOpen) recent = [];
      note(0);
    },
    failure: (circuit) => {
      note(1);
      if (circuit !== CircuitState.Closed) return true;
      const total = recent.reduce((sum, second) => sum + second.total, 0);
      const failures = recent.reduce((sum, second) => sum + second.failures, 0);
      return total >= least && failures >= total * share;
    },
  };
}
