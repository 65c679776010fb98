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

/** Sends one upstream call that nobody shares: a command or a download. Rejects like `sendAdmitted`. */
export async function send<Result>(
  pipeline: Pipeline,
  call: UpstreamCall,
  consume: ResponseConsumer<Result>,
): Promise<Result> {
  const { request, consumer } = call;
  // The body, and the variables that it was made of, at two bytes a character.
  if (request.body) consumer.chargeMemory(4 * request.body.length);
  return sendAdmitted(pipeline, await pipeline.admission.acquire(call), consume);
}

/**
 * Sends an admitted call, and retries reads when a retry can help: each attempt is admitted anew. Commands are never sent twice; after a 429
 * or a timeout no further command of the operation is sent. Rejects with `GatewayError`, and with `CancelledError` when all consumers have
 * disconnected.
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
      if (!isRead) checkCommand(call, admission);
      if (attempts === 0) consumer.countRequest();
      // Before another response is read.
      requester.reservation.checkLimit();
      sent = admission.send(admitted);
      attempts++;
      return await attempt(pipeline, call, consume);
    } catch (error) {
      failure = error;
      // Subscriptions poll again anyway.
      pauseMs = isRead && !requester.isBackground ? retries.pauseAfter(error, attempts, lifetime) : null;
      if (pauseMs === null) {
        requester.commandsEnd ??= reasonOf(error, isRead);
        throw error;
      }
      request.traceEntry?.add({ kind: "wait" });
    } finally {
      admission.release(admitted, sent, failure);
    }
    if (pauseMs > 0) await new Promise((resume) => void setTimeout(resume, pauseMs));
    // Rejects if every consumer has disconnected meanwhile.
    admitted = await admission.acquire(call);
  }
}

/** Throws if no further command of the operation is sent. */
function checkCommand(call: UpstreamCall, admission: UpstreamAdmission): void {
  const { request, requester } = call;
  if (requester.commandsEnd === "throttled") throw throttledError(request.endpoint, admission.waitMs(call));
  if (requester.commandsEnd === "timed out") throw timedOutBeforeError(request.endpoint);
}

/** Why no further command of an operation is sent after an error; null if others may be. */
function reasonOf(error: unknown, isRead: boolean): UpstreamCall["requester"]["commandsEnd"] {
  if (error instanceof GatewayError && error.details.upstream?.status === 429) return "throttled";
  return !isRead && isGatewayError(error, "UPSTREAM_TIMEOUT") ? "timed out" : null;
}
