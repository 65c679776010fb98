import { Cancelled, serviceShownBy, UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { Breaker } from "./breaker.ts";
import { endedError, isSent, mapFailure } from "./failure.ts";
import type { Held } from "../../held.ts";
import type { AttemptNote, RequestHeaders, UpstreamRequest } from "./request.ts";
import type { Retries } from "./retry.ts";
import type { WireRequest } from "./transport.ts";

/** The outcome of one upstream request. `route` is the template, never the filled path. */
export interface UpstreamReport {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  /** HTTP status, or an error code when there was no usable response. */
  readonly outcome: string;
  readonly ms: number;
}

export interface UpstreamSpan {
  /** The trace context to send; null when tracing is off. */
  readonly traceparent: string | null;
  readonly run: <Answer>(act: () => Answer) => Answer;
  /** Ends the span with the HTTP status (null without a response) and the error code (null on success). */
  readonly end: (status: number | null, error: string | null) => void;
}

export interface AttemptSettings {
  readonly breaker: Pick<Breaker, "enter" | "leave">;
  readonly retries: Retries;
  /** Receives the cause of a failed request: a rejected certificate, a reset connection, a bug of the gateway. */
  readonly onFailure: (cause: unknown) => void;
  readonly onRequest: (report: UpstreamReport) => void;
  /** Opens the span of one upstream request, by its method and route template. */
  readonly openSpan: (method: string, route: string) => UpstreamSpan;
}

/** Sends the request of an attempt, and passes it the status and then what was read, or a failure. */
export type Send<Part> = (attempt: Attempt<Part>, wire: WireRequest) => void;

/** Receives the outcome of an attempt, once. */
export interface Outcome<Part> {
  /** Receives what was read, and the bytes that it holds. */
  readonly succeeded: (part: Part, bytes: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Sends a request once, unless the circuit is open, and maps failures to errors for callers. */
export class Attempt<Part> {
  readonly request: UpstreamRequest<unknown>;
  readonly scope: RequestScope;
  readonly #settings: AttemptSettings;
  readonly #outcome: Outcome<Part>;
  readonly #held: Held | null;
  readonly #generation: number;
  readonly #began = performance.now();
  readonly #span: UpstreamSpan;
  readonly #note: AttemptNote | null;
  #status: number | null = null;
  #bytes = 0;
  #isSettled = false;

  /** Throws `UpstreamError` unless the circuit is closed. */
  constructor(
    settings: AttemptSettings,
    request: UpstreamRequest<unknown>,
    scope: RequestScope,
    outcome: Outcome<Part>,
    held: Held | null,
  ) {
    this.request = request;
    this.scope = scope;
    this.#settings = settings;
    this.#outcome = outcome;
    this.#held = held;
    this.#generation = settings.breaker.enter();
    settings.retries.count();
    this.#span = settings.openSpan(request.endpoint.method, request.endpoint.path);
    this.#note = request.note?.attempt(request.endpoint) ?? null;
  }

  send(headers: RequestHeaders, send: Send<Part>): void {
    const { endpoint, path, body = null } = this.request;
    try {
      const wire = {
        method: endpoint.method,
        path: headers.dialect.pathPrefix + path,
        headers: headers.of(this.request, this.#span.traceparent ?? this.scope.traceparent),
        body,
        wantsBody: endpoint.answer.form === "json",
      };
      this.scope.upstreamRequests++;
      this.#span.run(() => send(this, wire));
    } catch (cause) {
      this.fail(cause);
    }
  }

  /** Records that a response with this status has begun. */
  respond(status: number): void {
    this.#status = status;
  }

  /** Counts bytes that are held. Throws `UpstreamError` above the limit of the caller. */
  hold(bytes: number): void {
    this.#bytes += bytes;
    this.#held?.add(bytes);
  }

  /** Notes bytes of the response's body. */
  receive(bytes: number): void {
    this.#note?.receive(bytes);
  }

  succeed(part: Part): void {
    if (this.#settle(null)) this.#outcome.succeeded(part, this.#bytes);
  }

  fail(cause: unknown): void {
    const error = this.#errorFor(cause);
    if (this.#settle(error)) this.#outcome.failed(error);
  }

  #errorFor(cause: unknown): Error {
    const { endpoint } = this.request;
    if (this.scope.ended) return endedError(endpoint, this.scope, isSent(cause));
    const error = mapFailure(endpoint, cause);
    if (error !== cause) this.#settings.onFailure(error.cause ?? error);
    return error;
  }

  /** Records whether the service accepts the caller's token. A session may use another one. */
  #judgeToken(error: Error | null): void {
    const { token, caller } = this.scope;
    const { token: sent = token } = this.request;
    if (token === null || sent !== token) return;
    if (!error) caller.prove();
    else if (error instanceof UpstreamError && error.code === "UNAUTHENTICATED") caller.unprove();
  }

  #settle(error: Error | null): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    const { breaker, onRequest } = this.#settings;
    const { method, path } = this.request.endpoint;
    this.#judgeToken(error);
    breaker.leave(this.#generation, this.scope.caller.key, error ? serviceShownBy(error) : "up");
    this.#span.end(this.#status, error && codeOf(error));
    this.#note?.end(this.#status, error && codeOf(error));
    onRequest({
      requestId: this.scope.requestId,
      method,
      route: path,
      outcome: outcomeOf(this.#status, error),
      ms: performance.now() - this.#began,
    });
    return true;
  }
}

/** The code of an error; null when the caller disconnected, which is not a failure. */
function codeOf(error: Error): string | null {
  if (error instanceof UpstreamError) return error.code;
  return error instanceof Cancelled ? null : "INTERNAL_SERVER_ERROR";
}

/** The HTTP status, or the error code without one. */
function outcomeOf(status: number | null, error: Error | null): string {
  if (!error) return status === null || status < 300 ? "2xx" : `${status}`;
  const errorStatus = error instanceof UpstreamError ? error.facts.upstream?.status : undefined;
  return `${errorStatus ?? codeOf(error) ?? "CANCELLED"}`;
}
