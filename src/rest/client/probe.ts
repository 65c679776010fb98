import type { Clock } from "../../clock.ts";
import { RequestScope } from "../../request-scope.ts";
import { Nothing } from "../api/reader.ts";
import { attempt, type AttemptSettings, type Exchange } from "./attempt.ts";
import type { Asking } from "./breaker.ts";
import { Alone } from "./order.ts";
import { type Dialect, RequestHeaders, type UpstreamRequest } from "./request.ts";

export interface ProbeSettings {
  readonly attempts: Omit<AttemptSettings, "breaker">;
  /** Sends a request and reads its whole response. */
  readonly exchange: Exchange<unknown>;
  readonly dialect: Dialect;
  readonly clock: Clock;
}

/** The turns of what is short, or parsed elsewhere. */
export const atOnce = (work: () => void): void => work();

/** How long the service has to begin its response to a probe, in milliseconds. */
const PROBE_MS = 4_000;

/**
 * Creates the probe of the circuit breaker: a GET of its own with the token of a request that waits for it. So it
 * outlasts the operation of that request, and is never a command. Only its status is read. Probes alternate between the
 * cheapest record and what the request reads, so that neither one dead endpoint nor one bad record keeps the circuit
 * open.
 */
export function createProbe({ attempts, exchange, dialect, clock }: ProbeSettings) {
  let isCheapNext = true;

  const targetOf = (waiting: UpstreamRequest<unknown>) => {
    const { method, answer } = waiting.endpoint;
    const { cheapest } = dialect;
    const isCheap = isCheapNext || method !== "GET" || answer.form !== "json";
    isCheapNext = !isCheap;
    return isCheap ? { endpoint: cheapest, path: cheapest.toPath({}) } : waiting;
  };

  return async ({ request: waiting, operation }: Asking): Promise<boolean> => {
    const scope = new RequestScope(operation.scope, Number.POSITIVE_INFINITY);
    const cancel = clock.after(PROBE_MS, () => scope.end("deadline"));
    const { endpoint, path } = targetOf(waiting);
    const { token = operation.scope.token } = waiting;
    const request = { endpoint: { ...endpoint, answer: Nothing }, path, token };
    const order = {
      request,
      operation: { scope, headers: new RequestHeaders(dialect, scope), takeTurn: atOnce },
      asker: new Alone(scope, null),
    };
    let isUp = false;
    const breaker: AttemptSettings["breaker"] = {
      leave: (_generation, _callerKey, shown) => (isUp = shown === "up"),
    };
    // Only the breaker learns the outcome.
    await attempt({ ...attempts, breaker }, order, exchange, 0).catch(() => {});
    cancel();
    return isUp;
  };
}
