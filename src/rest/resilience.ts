import {
  bulkhead,
  BulkheadRejectedError,
  DelegateBackoff,
  handleWhen,
  type IRetryBackoffContext,
  retry,
} from "cockatiel";
import { type Breaker, CircuitOpen, createBreaker } from "./breaker.ts";
import { DeadlineError, UpstreamError } from "./errors.ts";
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
  readonly circuit: ReturnType<Breaker["circuit"]>;
  readonly running: number;
  readonly waiting: number;
  readonly shed: number;
}

/** Opens at half of at least 20 exchanges in 10 seconds, and lets one through after 5. */
const CIRCUIT = { seconds: 10, least: 20, share: 0.5, pauseMs: 5_000 };

/** At most a tenth of the exchanges of the last 10 seconds may be second tries; a quiet gateway may make ten. */
const RETRY_SHARE = 0.1;
const RETRY_MINIMUM = 10;
const RETRY_WINDOW_MS = 10_000;

/** Keeps a slow or broken service from taking the gateway with it. One for each service. */
export function createResilience({ retries, connections, queue }: ResilienceSettings) {
  const breaker = createBreaker({ ...CIRCUIT, judge });
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
  let shed = 0;

  /** One exchange in its lane, unless the service is known to be out or the lanes are full. */
  const once = async <Answer>(attempt: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await lanes.execute(() =>
        breaker.run(() => {
          budget.spend();
          return attempt();
        }),
      );
    } catch (fault) {
      if (fault instanceof CircuitOpen) throw circuitIsOpen();
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
      circuit: breaker.circuit(),
      running: connections - lanes.executionSlots,
      waiting: queue - lanes.queueSlots,
      shed,
    }),
  };
}

/** An answer that refuses is an answer. A caller that left, or whose time was over, had none. */
function judge(fault: unknown): "out" | "there" | "nothing" {
  if (!(fault instanceof UpstreamError) || fault instanceof DeadlineError) return "nothing";
  return isOutage(fault) ? "out" : "there";
}

const circuitIsOpen = () =>
  new UpstreamError(
    "UPSTREAM_UNAVAILABLE",
    "The service failed again and again and is not asked for a moment.",
    {
      retryAfterSeconds: CIRCUIT.pauseMs / 1000,
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
