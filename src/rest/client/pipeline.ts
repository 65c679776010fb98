import { GatewayError, isGatewayError } from "../../errors.ts";
import { attempt, type AttemptSettings, type ResponseConsumer } from "./attempt.ts";
import { endedError, throttledError, timedOutBeforeError } from "./failure.ts";
import type { Retries } from "./retry.ts";
import type { SentRequest, UpstreamAdmission } from "./upstream-admission.ts";
import type { QueuedCall, UpstreamCall } from "./upstream-call.ts";

export interface Pipeline extends AttemptSettings {
  readonly admission: UpstreamAdmission;
  readonly retries: Retries;
}

/**
 * Sends one upstream call that is not shared: a command or a download. If one command of an operation times out, its waiting commands are
 * not sent, because the server would process them only after that one. Rejects like `sendAdmitted`.
 */
export async function send<Result>(
  pipeline: Pipeline,
  call: UpstreamCall,
  consume: ResponseConsumer<Result>,
): Promise<Result> {
  const { request, requester, consumer } = call;
  // Charges the body and the variables from which it was created, at two bytes per character.
  if (request.body) consumer.chargeMemory(4 * request.body.length);
  const { timeouts } = requester;
  const admitted = await pipeline.admission.acquire(call);
  if (requester.timeouts > timeouts && request.endpoint.method !== "GET") {
    pipeline.admission.release(admitted, null, null);
    throw timedOutBeforeError(request.endpoint);
  }
  return sendAdmitted(pipeline, admitted, consume);
}

/**
 * Sends an admitted call, and retries reads if a retry can help. Each attempt is admitted again. Commands are never sent twice; after a 429
 * no further command of the operation is sent. Rejects with `GatewayError`, and with `CancelledError` when all consumers have disconnected.
 */
export async function sendAdmitted<Result>(
  pipeline: Pipeline,
  queued: QueuedCall,
  consume: ResponseConsumer<Result>,
): Promise<Result> {
  const { admission, retries } = pipeline;
  const { call } = queued;
  const { request, requester, consumer } = call;
  const { lifetime } = consumer;
  const isRead = request.endpoint.method === "GET";
  let admitted = queued;
  let attempts = 0;
  for (;;) {
    let sent: SentRequest | null = null;
    let failure: unknown = null;
    let pauseMs: number | null = null;
    try {
      if (lifetime.ended) throw endedError(request.endpoint, lifetime, false);
      if (!isRead && requester.isThrottled) throw throttledError(request.endpoint, admission.waitMs(call));
      if (attempts === 0) consumer.countRequest();
      // Throws before another response is read if the caller is over its memory limit.
      requester.reservation.checkLimit();
      sent = admission.beginSend(admitted);
      attempts++;
      return await attempt(pipeline, call, consume);
    } catch (error) {
      failure = error;
      // Reads of subscriptions are not retried, because subscriptions poll again in any case.
      const mayRetry = isRead && !requester.isBackground;
      pauseMs = mayRetry ? retries.pauseAfter(error, attempts, lifetime, requester.scope.caller) : null;
      if (pauseMs === null) {
        requester.isThrottled ||= error instanceof GatewayError && error.details.upstream?.status === 429;
        if (!isRead && isGatewayError(error, "UPSTREAM_TIMEOUT")) requester.timeouts++;
        throw error;
      }
      request.traceEntry?.add({ kind: "wait" });
    } finally {
      admission.release(admitted, sent, failure);
    }
    if (pauseMs > 0) await new Promise((resume) => void setTimeout(resume, pauseMs));
    // Rejects if every consumer has disconnected during the pause.
    admitted = await admission.acquire(call);
  }
}
