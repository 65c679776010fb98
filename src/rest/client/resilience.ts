import { type Breaker, CircuitOpen, createBreaker } from "./breaker.ts";
import { serviceShownBy, UpstreamError } from "../../errors.ts";
import { isThrottled, isTransient, pauseAskedBy, pauseBefore } from "./failure.ts";
import { pause, type RequestScope } from "../../request-scope.ts";

/** Opens at half of at least 20 upstream requests in 10 seconds, and lets one through after 5. */
const CIRCUIT = { seconds: 10, least: 20, share: 0.5, pauseMs: 5_000 };

/** At most a tenth of the upstream requests of the last 10 seconds may be retries; a quiet gateway may make ten. */
const RETRY_SHARE = 0.1;
const RETRY_MINIMUM = 10;
const RETRY_WINDOW_MS = 10_000;

/** Keeps a slow or broken service from taking the gateway with it. One for each service. */
export function createResilience({ retries }: { readonly retries: number }) {
  const breaker = createBreaker({ ...CIRCUIT, judge: serviceShownBy });
  const budget = createBudget();

  /** One try, unless the service is known to be out. */
  const attempt = async <Answer>(party: string, send: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await breaker.run(party, () => {
        budget.spend();
        return send();
      });
    } catch (fault) {
      throw fault instanceof CircuitOpen ? circuitIsOpen() : fault;
    }
  };

  /**
   * How long to wait before a request that failed is tried again, in milliseconds; null when that cannot help, or not
   * in time. Throttling is these servers' way of life: what they ask for is waited for, once.
   */
  const pauseAfter = (
    fault: unknown,
    tries: number,
    wasThrottled: boolean,
    scope: RequestScope,
  ): number | null => {
    const fits = (ms: number) => (Date.now() + ms < scope.deadline ? ms : null);
    if (isThrottled(fault)) return wasThrottled ? null : fits(pauseAskedBy(fault));
    const mayRetry =
      tries <= retries && isTransient(fault) && fits(pauseAskedBy(fault)) !== null && budget.take();
    return mayRetry ? fits(pauseBefore(tries, fault)) : null;
  };

  return {
    attempt,

    /** Tries a GET again where that can help. Nothing is held while it pauses, and the pause ends with the scope. */
    withRetry: async <Answer>(scope: RequestScope, send: () => Promise<Answer>): Promise<Answer> => {
      let wasThrottled = false;
      for (let tries = 1; ; tries++) {
        try {
          return await send();
        } catch (fault) {
          const ms = pauseAfter(fault, tries, wasThrottled, scope);
          if (ms === null) throw fault;
          wasThrottled ||= isThrottled(fault);
          await pause(ms, scope);
        }
      }
    },

    circuit: (): ReturnType<Breaker["circuit"]> => breaker.circuit(),
  };
}

const circuitIsOpen = () =>
  new UpstreamError(
    "UPSTREAM_UNAVAILABLE",
    "The service failed again and again and is not asked for a moment.",
    {
      retryAfterSeconds: CIRCUIT.pauseMs / 1000,
    },
  );

/** Counts upstream requests and retries, over all callers. */
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
