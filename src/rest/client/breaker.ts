import { type ServiceState, UpstreamError } from "../../errors.ts";

/** Opens when at least half of at least 20 requests within 10 seconds failed, and lets one through after 5. */
const WINDOW_SECONDS = 10;
const MIN_REQUESTS = 20;
const FAILED_SHARE = 0.5;
const PAUSE_MS = 5_000;

/** Parties that one second remembers. */
const MAX_PARTIES = 100;

export interface Breaker {
  /** Lets a request through and gives the generation that it belongs to. Throws `UpstreamError` while the circuit is open. */
  readonly enter: () => number;
  /** Tells what the outcome of a request showed of the service. */
  readonly leave: (generation: number, callerKey: string, shown: ServiceState) => void;
  /** Half-open while one request tries. */
  readonly circuit: () => "closed" | "half-open" | "open";
}

interface Second {
  /** Which second since 1970. */
  readonly at: number;
  failures: number;
  total: number;
  /** The parties whose requests failed, and those whose were answered: some of them, for there can be many. */
  readonly failed: Set<string>;
  readonly answered: Set<string>;
}

/**
 * A circuit breaker around the service. Own code: cockatiel's takes a caller that leaves for an answer, and lets all
 * others wait for the request that tries; its sampling keeps windows of any age while nothing happens.
 */
export function createBreaker(): Breaker {
  let recent: Second[] = [];
  let openedAt: number | null = null;
  let isTrying = false;
  /** Changes whenever the circuit opens or closes: what was sent before says nothing of what is now. */
  let generation = 0;

  const open = (at: number | null): void => {
    openedAt = at;
    recent = [];
    generation++;
  };

  /** What fails for one party alone, while others are answered, says something of what that one asks for. */
  const isOneParty = (): boolean => {
    const failed = new Set(recent.flatMap((second) => [...second.failed]));
    const [only] = failed;
    return (
      failed.size === 1 &&
      recent.some(({ answered }) => [...answered].some((callerKey) => callerKey !== only))
    );
  };

  const currentSecond = (): Second => {
    const at = Math.floor(Date.now() / 1000);
    const last = recent.at(-1);
    if (last?.at === at) return last;
    const second: Second = { at, failures: 0, total: 0, failed: new Set(), answered: new Set() };
    recent = [...recent.filter((each) => each.at > at - WINDOW_SECONDS), second];
    return second;
  };

  const count = (callerKey: string, hasFailed: boolean): void => {
    const second = currentSecond();
    second.total++;
    const callers = hasFailed ? second.failed : second.answered;
    if (callers.size < MAX_PARTIES) callers.add(callerKey);
    if (!hasFailed) return;
    second.failures++;
    const total = recent.reduce((sum, each) => sum + each.total, 0);
    const failures = recent.reduce((sum, each) => sum + each.failures, 0);
    if (total >= MIN_REQUESTS && failures >= total * FAILED_SHARE && !isOneParty()) open(Date.now());
  };

  return {
    enter: () => {
      if (openedAt !== null) {
        if (isTrying || Date.now() - openedAt < PAUSE_MS) throw circuitOpen();
        isTrying = true;
      }
      return generation;
    },
    leave: (begun, callerKey, shown) => {
      if (begun !== generation) return;
      // While the circuit is open, only the one that tries is of this generation.
      isTrying = false;
      if (shown === "unknown") return;
      if (openedAt === null) count(callerKey, shown === "down");
      else open(shown === "down" ? Date.now() : null);
    },
    circuit: () => (openedAt === null ? "closed" : isTrying ? "half-open" : "open"),
  };
}

const circuitOpen = () =>
  new UpstreamError(
    "UPSTREAM_UNAVAILABLE",
    "The service failed again and again and is not asked for a moment.",
    { retryAfterSeconds: PAUSE_MS / 1000 },
  );
