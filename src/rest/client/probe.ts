import { RequestScope } from "../../request-scope.ts";
import type { Get } from "../api/endpoint.ts";
import { Nothing } from "../api/reader.ts";
import { Attempt, type AttemptSettings, type Send } from "./attempt.ts";
import type { Breaker } from "./breaker.ts";
import { RequestHeaders, type RequestSettings, type ScopedRequest, type UpstreamRequest } from "./request.ts";

export interface ProbeSettings extends RequestSettings {
  readonly attempts: Omit<AttemptSettings, "breaker">;
  /** Sends the request of an attempt and reads its whole response. */
  readonly sendWhole: (request: UpstreamRequest<undefined>) => Send<undefined>;
  /** The cheapest read that every server has. */
  readonly cheapest: Get<object, unknown>;
  readonly clock: {
    /** Milliseconds since any fixed point; never goes back. */
    readonly now: () => number;
    /** Calls back once after a pause. Returns a function that cancels it. */
    readonly after: (ms: number, callback: () => void) => () => void;
  };
}

/** How long the service has to begin its response to a probe, in milliseconds. */
const PROBE_MS = 4_000;

/**
 * Creates the probe of the circuit breaker: a GET of its own with the token of a request that waits for it. So it outlives
 * the operation of that request, and is no command. Only its status is read. By turns it asks for the cheapest record and
 * for what the request asks for: neither one dead endpoint nor one bad record keeps the circuit open.
 */
export function createProbe({ attempts, sendWhole, cheapest, clock, ...settings }: ProbeSettings) {
  let isCheapNext = true;

  const targetOf = (asked: UpstreamRequest<unknown>): Pick<UpstreamRequest<unknown>, "endpoint" | "path"> => {
    const { method, answer } = asked.endpoint;
    const isCheap = isCheapNext || method !== "GET" || answer.form !== "json";
    isCheapNext = !isCheap;
    return isCheap ? { endpoint: cheapest, path: cheapest.toPath({}) } : asked;
  };

  return ({ request: asked, scope: askerScope }: ScopedRequest, onEnd: (isUp: boolean) => void): void => {
    const scope = new RequestScope(askerScope, Number.POSITIVE_INFINITY);
    const cancel = clock.after(PROBE_MS, () => scope.end("deadline"));
    const leave: Breaker["leave"] = (_generation, _callerKey, shown) => {
      cancel();
      onEnd(shown === "up");
    };
    const { endpoint, path } = targetOf(asked);
    const { token = askerScope.token } = asked;
    const request = { endpoint: { ...endpoint, answer: Nothing }, path, token };
    const breaker = { enter: () => 0, leave };
    const attempt = new Attempt<undefined>({ ...attempts, breaker }, request, scope, IGNORED, null);
    attempt.send(new RequestHeaders(settings, scope), sendWhole(request));
  };
}

/** The breaker is told the outcome. */
const IGNORED = { succeeded: (): void => {}, failed: (): void => {} };
