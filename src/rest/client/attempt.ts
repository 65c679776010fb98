import { CancelledError, GatewayError, isGatewayError } from "../../errors.ts";
import type { RequestScope } from "../../callers/request-scope.ts";
import { endedError, isSent, mapTransportError } from "./failure.ts";
import type { UpstreamCall } from "./upstream-call.ts";
import { type RequestFormat, headersOf } from "./request.ts";
import type { Retries } from "./retry.ts";
import type { WireRequest } from "./transport.ts";

/** The outcome of one upstream request. `route` is the template, never the filled path. */
export interface UpstreamReport {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  /** HTTP status, or an error code if there was no usable response. */
  readonly outcome: string;
  readonly ms: number;
}

export interface UpstreamSpan {
  /** The headers of the trace context to send, in lower case; null if the gateway does not trace the request. */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly run: <Answer>(act: () => Answer) => Answer;
  /** Ends the span with the HTTP status (null without a response) and the error code (null on success). */
  readonly end: (status: number | null, error: string | null) => void;
}

export interface AttemptSettings {
  readonly requestFormat: RequestFormat;
  readonly retries: Pick<Retries, "recordAttempt">;
  /** Receives the cause of a failed request: a rejected certificate, a reset connection, a bug of the gateway. */
  readonly onFailure: (cause: unknown) => void;
  readonly onRequest: (report: UpstreamReport) => void;
  /** Opens the span of one upstream request of a scope, by its method and route template. */
  readonly openSpan: (method: string, route: string, scope: RequestScope) => UpstreamSpan;
}

/** The status of a response (null without one), and the bytes of its body after decompression. */
interface ResponseStats {
  status: number | null;
  bytes: number;
}

/** Sends a request once, and reads the needed part of the response. */
export type ResponseConsumer<Result> = (
  call: UpstreamCall,
  wire: WireRequest,
  stats: ResponseStats,
) => Promise<Result>;

/** Sends a request once, and records its outcome: metrics, span and trace entry. */
export async function attempt<Result>(
  settings: AttemptSettings,
  call: UpstreamCall,
  consume: ResponseConsumer<Result>,
): Promise<Result> {
  const { requestFormat, onRequest, openSpan } = settings;
  const { request, requester } = call;
  const { lifetime } = call.consumer;
  const { scope } = requester;
  const { endpoint, path, body = null } = request;
  const began = performance.now();
  const span = openSpan(endpoint.method, endpoint.path, scope);
  const stats: ResponseStats = { status: null, bytes: 0 };
  request.traceEntry?.add({ kind: "sent", method: endpoint.method, path: endpoint.path });
  let error: Error | null = null;
  settings.retries.recordAttempt(scope.caller);
  scope.upstreamRequests++;
  try {
    const wire = {
      method: endpoint.method,
      path: requestFormat.pathPrefix + path,
      headers: headersOf(requestFormat, scope, request, span.headers ?? scope.trace),
      body,
      wantsBody: endpoint.answer.form === "json",
    };
    return await span.run(() => consume(call, wire, stats));
  } catch (cause) {
    error = lifetime.ended
      ? endedError(endpoint, lifetime, isSent(cause))
      : mapTransportError(endpoint, cause, stats.status);
    const isCause = error === cause || cause instanceof GatewayError;
    if (!lifetime.ended && !isCause) settings.onFailure(error.cause ?? error);
    throw error;
  } finally {
    const code = error && codeOf(error);
    judgeToken(call, error);
    span.end(stats.status, code);
    request.traceEntry?.add({ kind: "end", ...stats, error: code });
    onRequest({
      requestId: scope.requestId,
      method: endpoint.method,
      route: endpoint.path,
      outcome: error || (stats.status ?? 200) >= 300 ? `${stats.status ?? code ?? "CANCELLED"}` : "2xx",
      ms: performance.now() - began,
    });
  }
}

/** Marks the caller as verified or unverified, if the request was sent with the caller's token. A session may send another token. */
function judgeToken({ request, requester }: UpstreamCall, error: Error | null): void {
  const { token, caller } = requester.scope;
  const { token: sent = token } = request;
  if (token === null || sent !== token) return;
  if (!error) caller.markVerified();
  else if (isGatewayError(error, "UNAUTHENTICATED")) caller.markUnverified();
}

/** The code of an error; null when the caller disconnected, which is not a failure. */
function codeOf(error: Error): string | null {
  if (error instanceof GatewayError) return error.code;
  return error instanceof CancelledError ? null : "INTERNAL_SERVER_ERROR";
}
