import { GatewayError, OVERLOADED } from "../../errors.ts";
import { attempt, type AttemptSettings, type ResponseConsumer } from "./attempt.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import type { ConnectionLimiter } from "./connection-limiter.ts";
import { endedError, throttledError } from "./failure.ts";
import type { UpstreamCall } from "./upstream-call.ts";
import type { RateLimitOutcome, RateLimiter } from "./rate-limiter.ts";
import { type Retries, throttledMs } from "./retry.ts";

export interface Pipeline extends AttemptSettings {
  readonly breaker: CircuitBreaker;
  readonly connectionLimiter: ConnectionLimiter;
  readonly retries: Retries;
  /** The pacer of the token of a request; null without one. */
  readonly rateLimiterOf: (call: UpstreamCall) => RateLimiter | null;
}

/**
 * Asks the service: in the pace of the token, on a connection in its turn, while the circuit is closed, and again where that
 * can help. A command does not wait for its pace, because people click once, and is never sent again; after a refusal none of its
 * operation is sent. Rejects with `Failure`, and with `Cancelled` when nobody wants the response any more. `isConnected`: it
 * has a connection from `Connections.queue`.
 */
export async function sendThroughPipeline<Part>(
  pipeline: Pipeline,
  call: UpstreamCall,
  isConnected: boolean,
  consume: ResponseConsumer<Part>,
): Promise<Part> {
  const { request, requester, consumer } = call;
  const { lifetime } = consumer;
  const { breaker, connectionLimiter, retries } = pipeline;
  // Operations that have begun are not rejected halfway.
  if (!requester.hasBegun && connectionLimiter.shedLoad(requester.scope.caller))
    throw new GatewayError("SERVICE_OVERLOADED", OVERLOADED);
  requester.hasBegun = true;
  const isRead = request.endpoint.method === "GET";
  const rateLimiter = pipeline.rateLimiterOf(call);
  let attempts = 0;
  for (;;) {
    const acquired = isRead && !isConnected ? rateLimiter?.acquire(call) : rateLimiter?.acquireNow();
    if (acquired) await acquired;
    let outcome: RateLimitOutcome = "unsent";
    let pauseMs: number | null = null;
    try {
      // The text and the variables that it is made of, where characters may take two bytes.
      if (request.body) consumer.chargeMemory(4 * request.body.length);
      const acquiredSlot = isConnected ? null : connectionLimiter.acquire(call);
      if (acquiredSlot) await acquiredSlot;
      isConnected = true;
      if (lifetime.ended) throw endedError(request.endpoint, lifetime, false);
      // The service has refused another one meanwhile.
      if (isRead && rateLimiter?.isRefused()) continue;
      if (!isRead && requester.isThrottled)
        throw throttledError(request.endpoint, rateLimiter?.waitMs(false) ?? 0);
      if (attempts === 0) consumer.countRequest();
      // Before more is read.
      requester.reservation.checkLimit();
      const generation = breaker.enter();
      outcome = "allowed";
      rateLimiter?.recordSent();
      attempts++;
      return await attempt(pipeline, call, consume, generation);
    } catch (error) {
      if (outcome === "allowed") outcome = throttledMs(error) ?? outcome;
      // A subscription reads again anyway.
      pauseMs = isRead && !requester.isBackground ? retries.pauseAfter(error, attempts, lifetime) : null;
      requester.isThrottled ||=
        pauseMs === null && error instanceof GatewayError && error.facts.upstream?.status === 429;
      if (pauseMs === null) throw error;
      request.traceEntry?.add({ kind: "wait" });
    } finally {
      // Who has the connection next must know what has become of this one.
      rateLimiter?.release(outcome);
      if (isConnected) connectionLimiter.release(requester);
      isConnected = false;
    }
    // Who leaves meanwhile is asked for no more afterwards.
    if (pauseMs > 0) await new Promise((resume) => void setTimeout(resume, pauseMs));
  }
}
