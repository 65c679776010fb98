import { healthImpliedBy } from "../../errors.ts";
import type { Clock } from "../../util/clock.ts";
import { RequestScope } from "../../callers/request-scope.ts";
import { Nothing } from "../api/reader.ts";
import { attempt, type AttemptSettings, type ResponseConsumer } from "./attempt.ts";
import type { Requester, UpstreamCall } from "./upstream-call.ts";
import type { UpstreamRequest } from "./request.ts";

export interface ProbeSettings {
  readonly attempts: AttemptSettings;
  /** Sends a request and reads its whole response. */
  readonly consume: ResponseConsumer<unknown>;
  readonly open: (scope: RequestScope) => Requester;
  readonly clock: Clock;
}

/** Maximum time until the response to a probe begins, in milliseconds. */
const PROBE_MS = 4_000;

/**
 * Creates the probe of the circuit breaker: a separate GET with the token of a waiting request. The probe outlives the operation of that
 * request, and is never a command. Only the status of its response is read. Probes alternate between the cheapest record and the target of
 * the request, so that neither one dead endpoint nor one bad record keeps the circuit open. `isFirst` selects the cheapest record.
 */
export function createProbe({ attempts, consume, open, clock }: ProbeSettings) {
  let isCheapNext = true;

  const targetOf = (waiting: UpstreamRequest<unknown>) => {
    const { method, answer } = waiting.endpoint;
    const { cheapest } = attempts.requestFormat;
    const isCheap = isCheapNext || method !== "GET" || answer.form !== "json";
    isCheapNext = !isCheap;
    return isCheap ? { endpoint: cheapest, path: cheapest.toPath({}) } : waiting;
  };

  return async (
    { request: waiting, requester: { scope: asking } }: UpstreamCall,
    isFirst: boolean,
  ): Promise<boolean> => {
    if (isFirst) isCheapNext = true;
    const scope = new RequestScope(asking, Number.POSITIVE_INFINITY);
    const cancel = clock.after(PROBE_MS, () => scope.end("deadline"));
    const requester = open(scope);
    const { endpoint, path } = targetOf(waiting);
    const { token = asking.token } = waiting;
    const request = { endpoint: { ...endpoint, answer: Nothing }, path, token };
    const call = { request, requester, consumer: requester };
    const isUp = await attempt(attempts, call, consume).then(
      () => true,
      (error: unknown) => healthImpliedBy(error) === "up",
    );
    cancel();
    scope.end("completed");
    return isUp;
  };
}
