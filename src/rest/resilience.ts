import {
  BrokenCircuitError,
  bulkhead,
  BulkheadRejectedError,
  circuitBreaker,
  CircuitState,
  DelegateBackoff,
  handleWhen,
  type IRetryBackoffContext,
  retry,
  wrap,
} from "cockatiel";
import { createBreaker } from "./breaker.ts";
import { UpstreamError } from "./errors.ts";
import { isOutage, isTransient, pauseBefore } from "./refusal.ts";

export interface ResilienceSettings {
  /** How many times a failed GET is tried again. */
  readonly retries: number;
  /** Exchanges at a time, over all callers. */
  readonly connections: number;
  /** Exchanges that may wait for their turn; beyond them the gateway is overloaded. */
  readonly queue: number;
}

/** What the service's state looks like from here. */
export interface Pressure {
  readonly circuit: "closed" | "half-open" | "open";
  readonly running: number;
  readonly waiting: number;
  readonly shed: number;
}

/** Opens at half of at least 20 exchanges in 10 seconds, and lets one through after 5. */
const CIRCUIT = { seconds: 10, least: 20, share: 0.5 };
const HALF_OPEN_AFTER_MS = 5_000;

/** At most a tenth of the exchanges of the last 10 seconds may be second tries; a quiet gateway may make ten. */
const RETRY_SHARE = 0.1;
const RETRY_MINIMUM = 10;
const RETRY_WINDOW_MS = 10_000;

/** Keeps a slow or broken service from taking the gateway with it. One for each service. */
export function createResilience({ retries, connections, queue }: ResilienceSettings) {
  const breaker = circuitBreaker(handleWhen(isOutage), {
    halfOpenAfter: HALF_OPEN_AFTER_MS,
    breaker: createBreaker(CIRCUIT),
  });
  const lanes = bulkhead(connections, queue);
  const budget = createBudget();
  const retrying = retry(
    handleWhen((fault) => isTransient(fault) && budget.take()),
    {
      maxAttempts: retries,
      backoff: new DelegateBackoff(({ attempt, result }: IRetryBackoffContext<unknown>) =>
        pauseBefore(attempt, "error" in result ? result.error : null),
      ),
    },
  );
  const guarded = wrap(lanes, breaker);
  let shed = 0;

  /** One exchange in its lane, unless the service is known to be out or the lanes are full. */
  const once = async <Answer>(attempt: () => Promise<Answer>): Promise<Answer> => {
    budget.spend();
    try {
      // An answer that refuses is an answer: only an outage counts against the service.
      const outcome = await guarded.execute(async () => {
        try {
          return { answer: await attempt() };
        } catch (fault) {
          if (fault instanceof Error && !isOutage(fault)) return { fault };
          throw fault;
        }
      });
      if ("fault" in outcome) throw outcome.fault;
      return outcome.answer;
    } catch (fault) {
      if (fault instanceof BrokenCircuitError) throw circuitIsOpen();
      if (!(fault instanceof BulkheadRejectedError)) throw fault;
      shed++;
      throw new UpstreamError(
        "SERVICE_OVERLOADED",
        "The gateway has more to do than it can; try again later.",
      );
    }
  };

  return {
    once,
    /** The same, tried again where that can help. Only for what may be sent twice. */
    again: <Answer>(attempt: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> =>
      retrying.execute(() => once(attempt), signal),
    pressure: (): Pressure => ({
      circuit: CIRCUITS[breaker.state],
      running: connections - lanes.executionSlots,
      waiting: queue - lanes.queueSlots,
      shed,
    }),
  };
}

const CIRCUITS: Record<CircuitState, Pressure["circuit"]> = {
  [CircuitState.Closed]: "closed",
  [CircuitState.HalfOpen]: "half-open",
  [CircuitState.Open]: "open",
  [CircuitState.Isolated]: "open",
};

const circuitIsOpen = () =>
  new UpstreamError(
    "UPSTREAM_UNAVAILABLE",
    "The service failed again and again and is not asked for a moment.",
    {
      retryAfterSeconds: HALF_OPEN_AFTER_MS / 1000,
    },
  );

/** Counts exchanges and second tries. Own code: cockatiel's retry has no budget over all calls. */
function createBudget() {
  let since = Date.now();
  let spent = 0;
  let taken = 0;
  const turn = () => {
    if (Date.now() - since < RETRY_WINDOW_MS) return;
    since = Date.now();
    spent = 0;
    taken = 0;
  };
  return {
    spend: () => {
      turn();
      spent++;
    },
    take: (): boolean => {
      turn();
      if (taken >= Math.max(RETRY_MINIMUM, spent * RETRY_SHARE)) return false;
      taken++;
      return true;
    },
  };
}
