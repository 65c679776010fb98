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
  /** The rate limiter of the token of a call; null without a token. */
  readonly rateLimiterOf: (call: UpstreamCall) => RateLimiter | null;
}

/**
 * Sends one upstream call through the rate limiter, the connection limiter and the circuit breaker, and retries reads when a retry can help.
 * Commands do not wait for the rate limit, because a person is waiting, and are never sent twice; after a 429 no further command of the
 * operation is sent. Rejects with `GatewayError`, and with `CancelledError` when all consumers have disconnected. `isConnected`: the call has
 * a connection already, from `ConnectionLimiter.queue`.
 */
export async function sendThroughPipeline<Result>(
  pipeline: Pipeline,
  call: UpstreamCall,
  isConnected: boolean,
  consume: ResponseConsumer<Result>,
): Promise<Result> {
  const { request, requester, consumer } = call;
  const { lifetime } = consumer;
  const { breaker, connectionLimiter, retries } = pipeline;
  // Load is shed only before the first call of an operation.
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
      // The body, and the variables that it was made of, at two bytes a character.
      if (request.body) consumer.chargeMemory(4 * request.body.length);
      const acquiredSlot = isConnected ? null : connectionLimiter.acquire(call);
      if (acquiredSlot) await acquiredSlot;
      isConnected = true;
      if (lifetime.ended) throw endedError(request.endpoint, lifetime, false);
      // Another call was rejected meanwhile.
      if (isRead && rateLimiter?.isRefused()) continue;
      if (!isRead && requester.isThrottled)
        throw throttledError(request.endpoint, rateLimiter?.waitMs(false) ?? 0);
      if (attempts === 0) consumer.countRequest();
      // Before another response is read.
      requester.reservation.checkLimit();
      const generation = breaker.enter();
      outcome = "allowed";
      rateLimiter?.recordSent();
      attempts++;
      return await attempt(pipeline, call, consume, generation);
    } catch (error) {
      if (outcome === "allowed") outcome = throttledMs(error) ?? outcome;
      // Subscriptions poll again anyway.
      pauseMs = isRead && !requester.isBackground ? retries.pauseAfter(error, attempts, lifetime) : null;
      requester.isThrottled ||=
        pauseMs === null && error instanceof GatewayError && error.details.upstream?.status === 429;
      if (pauseMs === null) throw error;
      request.traceEntry?.add({ kind: "wait" });
    } finally {
      // In this order: the next holder of the connection must see the outcome.
      rateLimiter?.release(outcome);
      if (isConnected) connectionLimiter.release(requester);
      isConnected = false;
    }
    // If every consumer disconnects during the backoff, the next iteration throws.
    if (pauseMs > 0) await new Promise((resume) => void setTimeout(resume, pauseMs));
  }
}
