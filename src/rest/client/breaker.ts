/** How many seconds are looked at, how many exchanges they must hold, and which share of them must have failed. */
export interface BreakerSettings {
  readonly seconds: number;
  readonly least: number;
  readonly share: number;
  /** How long nobody is let through, before one exchange may try. */
  readonly pauseMs: number;
  /** What an error says of the service: that it is out, that it is there, or nothing. */
  readonly judge: (fault: unknown) => "down" | "up" | "unknown";
}

export interface Breaker {
  /** Runs an exchange, or throws `CircuitOpen`. */
  readonly run: <Answer>(party: string, exchange: () => Promise<Answer>) => Promise<Answer>;
  /** Half-open while one exchange tries. */
  readonly circuit: () => "closed" | "half-open" | "open";
}

/** The service is known to be out: nothing was sent. */
export class CircuitOpen extends Error {}

interface Second {
  /** Which second since 1970. */
  readonly at: number;
  failures: number;
  total: number;
  /** The parties whose exchanges failed, and those whose were answered: some of them, for there can be many. */
  readonly failed: Set<string>;
  readonly answered: Set<string>;
}

/** Parties that one second remembers. */
const MAX_PARTIES = 100;

/**
 * Opens when of the exchanges of the last seconds a share or more failed, and closes when one that tries is answered.
 * Own code: cockatiel's breaker takes a caller that leaves for an answer, and lets all others wait for the one that
 * tries; its sampling keeps windows of any age while nothing happens.
 */
export function createBreaker({ seconds, least, share, pauseMs, judge }: BreakerSettings): Breaker {
  let recent: Second[] = [];
  let openedAt: number | null = null;
  let isTrying = false;
  /** Changes whenever the circuit opens or closes: what was sent before says nothing of what is now. */
  let era = 0;

  const turn = (at: number | null): void => {
    openedAt = at;
    recent = [];
    era++;
  };

  /** What fails for one party alone, while others are answered, says something of what that one asks for. */
  const isOneParty = (): boolean => {
    const failed = new Set(recent.flatMap((second) => [...second.failed]));
    const [only] = failed;
    return failed.size === 1 && recent.some(({ answered }) => [...answered].some((party) => party !== only));
  };

  const note = (party: string, failures: 0 | 1): void => {
    const at = Math.floor(Date.now() / 1000);
    recent = recent.filter((second) => second.at > at - seconds);
    const known = recent.at(-1);
    const now =
      known?.at === at
        ? known
        : { at, failures: 0, total: 0, failed: new Set<string>(), answered: new Set<string>() };
    if (now !== known) recent.push(now);
    now.failures += failures;
    now.total++;
    const parties = failures === 1 ? now.failed : now.answered;
    if (parties.size < MAX_PARTIES) parties.add(party);
    if (failures === 0) return;
    const total = recent.reduce((sum, second) => sum + second.total, 0);
    const failed = recent.reduce((sum, second) => sum + second.failures, 0);
    if (total >= least && failed >= total * share && !isOneParty()) turn(Date.now());
  };

  const learn = (party: string, verdict: ReturnType<BreakerSettings["judge"]>, begun: number): void => {
    if (verdict === "unknown" || begun !== era) return;
    if (openedAt === null) note(party, verdict === "down" ? 1 : 0);
    else turn(verdict === "down" ? Date.now() : null);
  };

  const observed = async <Answer>(party: string, exchange: () => Promise<Answer>): Promise<Answer> => {
    const begun = era;
    try {
      const answer = await exchange();
      learn(party, "up", begun);
      return answer;
    } catch (fault) {
      learn(party, judge(fault), begun);
      throw fault;
    }
  };

  return {
    run: async (party, exchange) => {
      if (openedAt === null) return observed(party, exchange);
      if (isTrying || Date.now() - openedAt < pauseMs) throw new CircuitOpen();
      isTrying = true;
      try {
        return await observed(party, exchange);
      } finally {
        isTrying = false;
      }
    },
    circuit: () => (openedAt === null ? "closed" : isTrying ? "half-open" : "open"),
  };
}
