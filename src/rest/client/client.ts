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

/** What came of one upstream request. `route` is the template, never the filled path. */
export interface UpstreamReport {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  /** HTTP status, or a code where there was no response that could be used. */
  readonly outcome: string;
  readonly ms: number;
}

export interface UpstreamSpan {
  /** The trace context to send; null when no span is made. */
  readonly traceparent: string | null;
  readonly run: <Answer>(act: () => Answer) => Answer;
  /** Ends it with the status that came, if any, and the code of the failure; null when there was none. */
  readonly end: (status: number | null, error: string | null) => void;
}

export interface ClientSettings extends TransportSettings, AdmissionSettings {
  /** What comes before the path of every endpoint. */
  readonly basePath: string;
  /** The word before the token in the `Authorization` header. */
  readonly authorizationScheme: string;
  /** Headers of every request, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** What no message may repeat, whoever asks. */
  readonly secrets: readonly string[];
  /** How many bytes of responses the scopes of one party may hold, after decompression. */
  readonly maxHeldBytes: number;
  /** How many times a failed GET is tried again. */
  readonly retries: number;
  /** Told of values that read as null because their type was wrong. */
  readonly onFault: (route: string, place: string) => void;
  /** Told of the cause behind a failed request: a refused certificate, a reset connection, a bug of the gateway. */
  readonly onFailure: (cause: unknown) => void;
  readonly onRequest: (report: UpstreamReport) => void;
  /** Resolves when it is the turn of a party to have a response read: reading holds the process. */
  readonly takeTurn: (callerKey: string) => Promise<void>;
  /** Opens the span of one upstream request, by its method and route template. */
  readonly openSpan: (method: string, route: string) => UpstreamSpan;
}

/** Reads a part of a stream and tells how many bytes of it are kept. */
type ReadPart<Part> = (response: StreamedResponse, hold: (bytes: number) => void) => Promise<Part>;

/** The upstream requests of one scope, which wait for their turns together. */
export interface Upstream {
  /** Reads a whole response. A GET is tried again when the service was out of reach; a command never is. */
  readonly json: <Answer>(request: UpstreamRequest<Answer>) => Promise<Answer>;
  /** Reads a part of a log; the rest is not fetched. */
  readonly readPart: <Part>(request: UpstreamRequest<unknown>, read: ReadPart<Part>) => Promise<Part>;
}

/** How one kind of request is sent, and how its response is read. */
interface Exchange<Response extends ResponseHead, Part> {
  readonly send: (wire: WireRequest, scope: RequestScope) => Promise<Response>;
  readonly read: (response: Response) => Promise<Part>;
}

interface Operation {
  readonly scope: RequestScope;
  readonly turns: Turns;
  readonly held: Held;
}

/** How busy the gateway is with the service, and how the service is. */
export type Pressure = ReturnType<Client["pressure"]>;
export type Client = ReturnType<typeof createClient>;

/** The one place that speaks to the service. Nothing of one caller is kept for another. */
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

  /** Sends a request once and reads its response, unless the circuit is open. A failure becomes the error for callers. */
  const exchange = async <Response extends ResponseHead, Part>(
    request: UpstreamRequest<unknown>,
    scope: RequestScope,
    { send, read }: Exchange<Response, Part>,
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
    } catch (thrown) {
      error = errorFor(request, scope, thrown);
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

  const errorFor = ({ endpoint }: UpstreamRequest<unknown>, scope: RequestScope, thrown: unknown): Error => {
    if (scope.ended()) return endedError(endpoint, scope, isSent(thrown));
    const error = mapFailure(endpoint, thrown);
    if (error !== thrown) settings.onFailure(error.cause ?? error);
    return error;
  };

  /** Exchanges a request of an operation when it is its turn. A GET is tried again where that can help. */
  const run = async <Response extends ResponseHead, Part>(
    request: UpstreamRequest<unknown>,
    { scope, turns, held }: Operation,
    way: Exchange<Response, Part>,
  ): Promise<Part> => {
    const { endpoint, waiting } = request;
    let throttled = 0;
    for (let attempts = 1; ; attempts++) {
      await turns.enter({ endpoint, waiting, isRetry: attempts > 1 });
      let failure: unknown;
      try {
        held.check();
        return await exchange(request, scope, way);
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
    /** The upstream requests of a scope, within its bounds. */
    open: (scope: RequestScope, bounds: OperationBounds): Upstream => {
      const operation: Operation = { scope, turns: admission.open(scope, bounds), held: heldOf(scope) };
      const { held } = operation;
      const send = (wire: WireRequest) => transport.whole(wire, scope, held.add);
      const takeTurn = () => settings.takeTurn(scope.callerKey);
      const secrets = secretsFor(scope);
      const reading = { onFault: settings.onFault, hold: held.add, takeTurn, secrets };
      return {
        json: (request) =>
          run(request, operation, {
            send,
            read: async (response) => {
              await takeTurn();
              return readResponse(request, response, reading);
            },
          }),
        readPart: (request, read) =>
          run(request, operation, {
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

    /** Opens a download. It does not wait among the others: its reader takes as long as it likes. */
    stream: (request: UpstreamRequest<unknown>, scope: RequestScope): Promise<StreamedResponse> =>
      exchange(request, scope, {
        send: sendForStream,
        read: (response) => checkStream(request, response, secretsFor(scope)),
      }),

    /** Whether a new operation of a party would find no room in the queue: it need not begin. */
    refuses: admission.refuses,

    pressure: () => ({ ...admission.pressure(), circuit: breaker.circuit() }),
    reach: () => transport.reach(),
    close: () => transport.close(),
  };
}

/** The code of a failure; null when the caller left, which is none. */
function codeOf(error: Error): string | null {
  if (error instanceof UpstreamError) return error.code;
  return error instanceof Cancelled ? null : "INTERNAL_SERVER_ERROR";
}

/** HTTP status, or the code of a failure without one. */
function outcomeOf(status: number | null, error: Error | null): string {
  if (!error) return status === null || status < 300 ? "2xx" : `${status}`;
  const told = error instanceof UpstreamError ? error.facts.upstream?.status : undefined;
  return `${told ?? codeOf(error) ?? "CANCELLED"}`;
}
