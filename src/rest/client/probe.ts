import type { Clock } from "../../clock.ts";
import { RequestScope } from "../../request-scope.ts";
import { Nothing } from "../api/reader.ts";
import { Attempt, type AttemptSettings, type Send } from "./attempt.ts";
import type { Breaker } from "./breaker.ts";
import { type Dialect, RequestHeaders, type ScopedRequest, type UpstreamRequest } from "./request.ts";

export interface ProbeSettings {
  readonly attempts: Omit<AttemptSettings, "breaker">;
  /** Sends the request of an attempt and reads its whole response. */
  readonly sendWhole: (request: UpstreamRequest<undefined>) => Send<undefined>;
  readonly dialect: Dialect;
  readonly clock: Clock;
}

/** How long the service has to begin its response to a probe, in milliseconds. */
const PROBE_MS = 4_000;

/**
 * Creates the probe of the circuit breaker: a GET of its own with the token of a request that waits for it. So it
 * outlasts the operation of that request, and is never a command. Only its status is read. Probes alternate between the
 * cheapest record and what the request reads, so that neither one dead endpoint nor one bad record keeps the circuit
 * open.
 */
export function createProbe({ attempts, sendWhole, dialect, clock }: ProbeSettings) {
  let isCheapNext = true;

  const targetOf = (waiting: UpstreamRequest<unknown>) => {
    const { method, answer } = waiting.endpoint;
    const { cheapest } = dialect;
    const isCheap = isCheapNext || method !== "GET" || answer.form !== "json";
    isCheapNext = !isCheap;
    return isCheap ? { endpoint: cheapest, path: cheapest.toPath({}) } : waiting;
  };

  return ({ request: waiting, scope: waitingScope }: ScopedRequest, onEnd: (isUp: boolean) => void): void => {
    const scope = new RequestScope(waitingScope, Number.POSITIVE_INFINITY);
    const cancel = clock.after(PROBE_MS, () => scope.end("deadline"));
    const leave: Breaker["leave"] = (_generation, _callerKey, shown) => {
      cancel();
      onEnd(shown === "up");
    };
    const { endpoint, path } = targetOf(waiting);
    const { token = waitingScope.token } = waiting;
    const request = { endpoint: { ...endpoint, answer: Nothing }, path, token };
    const breaker = { enter: () => 0, leave };
    const attempt = new Attempt<undefined>({ ...attempts, breaker }, request, scope, IGNORED, null);
    attempt.send(new RequestHeaders(dialect, scope), sendWhole(request));
  };
}

/** Only the breaker learns the outcome. */
const IGNORED = { succeeded: (): void => {}, failed: (): void => {} };
