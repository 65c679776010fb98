import { Cancelled, serviceShownBy, UpstreamError } from "../../errors.ts";
import { pause, type RequestScope } from "../../request-scope.ts";
import { type AdmissionSettings, createAdmission, type OperationBounds, type Turns } from "./admission.ts";
import { createBreaker } from "./breaker.ts";
import { endedError, isSent, mapFailure } from "./failure.ts";
import { createHeldBytes, type Held } from "./held.ts";
import { toWireRequest, type UpstreamRequest } from "./request.ts";
import { checkStream, readResponse } from "./response.ts";
import { createRetries, isThrottled } from "./retry.ts";
import { openStream } from "./stream.ts";
import {
  createTransport,
  type ResponseHead,
  type StreamedResponse,
  type TransportSettings,
  type WireRequest,
} from "./transport.ts";

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

export interface ClientSettings extends TransportSettings, AdmissionSettings {
  /** Prefix of every endpoint's path. */
  readonly basePath: string;
  /** The scheme in the `Authorization` header: `token`, `Bearer`. */
  readonly authorizationScheme: string;
  /** Headers of every request, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that no error message may contain, for any caller. */
  readonly secrets: readonly string[];
  /** Maximum bytes of responses that the scopes of one caller may hold, after decompression. */
  readonly maxHeldBytes: number;
  /** Maximum retries of a failed GET. */
  readonly retries: number;
  /** Receives the place of each value that reads as null because its type is wrong. */
  readonly onFault: (route: string, place: string) => void;
  /** Receives the cause of a failed request: a rejected certificate, a reset connection, a bug of the gateway. */
  readonly onFailure: (cause: unknown) => void;
  readonly onRequest: (report: UpstreamReport) => void;
  /** Resolves when a response of the caller may be parsed: parsing blocks the event loop. */
  readonly takeTurn: (callerKey: string) => Promise<void>;
  /** Opens the span of one upstream request, by its method and route template. */
  readonly openSpan: (method: string, route: string) => UpstreamSpan;
}

/** Reads part of a stream. Calls `hold` with the number of bytes that it keeps. */
type ReadPart<Part> = (response: StreamedResponse, hold: (bytes: number) => void) => Promise<Part>;

/** Sends the upstream requests of one scope. */
export interface Upstream {
  /** Reads a whole response. A failed GET may be retried; a command never is. */
  readonly json: <Answer>(request: UpstreamRequest<Answer>) => Promise<Answer>;
  /** Reads part of a log. The rest is not fetched. */
  readonly readPart: <Part>(request: UpstreamRequest<unknown>, read: ReadPart<Part>) => Promise<Part>;
}

/** How a request is sent and its response read. */
interface AttemptSteps<Response extends ResponseHead, Part> {
  readonly send: (wire: WireRequest, scope: RequestScope) => Promise<Response>;
  readonly read: (response: Response) => Promise<Part>;
}

interface Operation {
  readonly scope: RequestScope;
  readonly turns: Turns;
  readonly held: Held;
}

/** The load of the upstream queue and the state of the circuit. */
export type Pressure = ReturnType<Client["pressure"]>;
export type Client = ReturnType<typeof createClient>;

/** Creates the client for the service. It caches nothing, so callers share no data. */
export function createClient(settings: ClientSettings) {
  const transport = createTransport(settings);
  const admission = createAdmission(settings);
  const breaker = createBreaker();
  const retries = createRetries(settings.retries);
  const heldOf = createHeldBytes(settings.maxHeldBytes);
  const segments = [settings.upstreamUrl.pathname, settings.basePath].flatMap((path) => path.split("/"));
  const fixed = {
    basePath: ["", ...segments.filter((segment) => segment !== ""), ""].join("/"),
    authorizationScheme: settings.authorizationScheme,
    headers: settings.headers,
  };

  /** Sends a request once and reads its response, unless the circuit is open. Maps failures to errors for callers. */
  const attempt = async <Response extends ResponseHead, Part>(
    request: UpstreamRequest<unknown>,
    scope: RequestScope,
    { send, read }: AttemptSteps<Response, Part>,
  ): Promise<Part> => {
    const { endpoint } = request;
    const generation = breaker.enter();
    retries.count();
    const began = performance.now();
    const span = settings.openSpan(endpoint.method, endpoint.path);
    const traceparent = span.traceparent ?? scope.traceparent;
    let status: number | null = null;
    let error: Error | null = null;
    try {
      const wire = toWireRequest(request, scope, { ...fixed, traceparent });
      const response = await span.run(() => send(wire, scope));
      status = response.status;
      return await read(response);
    } catch (cause) {
      error = errorFor(request, scope, cause);
      throw error;
    } finally {
      breaker.leave(generation, scope.callerKey, error ? serviceShownBy(error) : "up");
      span.end(status, error && codeOf(error));
      settings.onRequest({
        requestId: scope.requestId,
        method: endpoint.method,
        route: endpoint.path,
        outcome: outcomeOf(status, error),
        ms: performance.now() - began,
      });
    }
  };

  const errorFor = ({ endpoint }: UpstreamRequest<unknown>, scope: RequestScope, cause: unknown): Error => {
    if (scope.ended()) return endedError(endpoint, scope, isSent(cause));
    const error = mapFailure(endpoint, cause);
    if (error !== cause) settings.onFailure(error.cause ?? error);
    return error;
  };

  /** Sends a request of an operation in its turn, and retries a GET when that can help. */
  const withRetry = async <Response extends ResponseHead, Part>(
    request: UpstreamRequest<unknown>,
    { scope, turns, held }: Operation,
    steps: AttemptSteps<Response, Part>,
  ): Promise<Part> => {
    const { endpoint, waiting } = request;
    let throttled = 0;
    for (let attempts = 1; ; attempts++) {
      await turns.enter({ endpoint, waiting, isRetry: attempts > 1 });
      let failure: unknown;
      try {
        held.check();
        return await attempt(request, scope, steps);
      } catch (error) {
        failure = error;
      } finally {
        turns.leave();
      }
      if (isThrottled(failure)) throttled++;
      const isRead = endpoint.method === "GET";
      const pauseMs = isRead ? retries.pauseAfter(failure, { attempts, throttled }, scope) : null;
      if (pauseMs === null) throw failure;
      await pause(pauseMs, scope);
    }
  };

  const secretsFor = ({ token }: RequestScope) => [token, ...settings.secrets];

  const sendForStream = (wire: WireRequest, scope: RequestScope) => openStream(settings, wire, scope);

  return {
    /** Opens the upstream requests of a scope within its limits. */
    open: (scope: RequestScope, bounds: OperationBounds): Upstream => {
      const operation: Operation = { scope, turns: admission.open(scope, bounds), held: heldOf(scope) };
      const { held } = operation;
      const send = (wire: WireRequest) => transport.whole(wire, scope, held.add);
      const takeTurn = () => settings.takeTurn(scope.callerKey);
      const secrets = secretsFor(scope);
      const reading = { onFault: settings.onFault, hold: held.add, takeTurn, secrets };
      return {
        json: (request) =>
          withRetry(request, operation, {
            send,
            read: async (response) => {
              await takeTurn();
              return readResponse(request, response, reading);
            },
          }),
        readPart: (request, read) =>
          withRetry(request, operation, {
            send: sendForStream,
            read: async (response) => {
              await checkStream(request, response, secrets);
              try {
                return await read(response, held.add);
              } finally {
                response.stream.destroy();
              }
            },
          }),
      };
    },

    /** Opens a download. It is not queued, because its duration depends on the caller. */
    stream: (request: UpstreamRequest<unknown>, scope: RequestScope): Promise<StreamedResponse> =>
      attempt(request, scope, {
        send: sendForStream,
        read: (response) => checkStream(request, response, secretsFor(scope)),
      }),

    /** Whether the queue has no room for a new operation of the caller. */
    isQueueFull: admission.isQueueFull,

    pressure: () => ({ ...admission.pressure(), circuit: breaker.circuit() }),
    reach: () => transport.reach(),
    close: () => transport.close(),
  };
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
