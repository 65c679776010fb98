import { type AdmissionSettings, createAdmission, type OperationBounds } from "./admission.ts";
import { readAnswer } from "./response.ts";
import { NotUnderstood, readWhole } from "./body.ts";
import type { Command, Get } from "../api/endpoint.ts";
import { Cancelled, UpstreamError } from "../../errors.ts";
import { failureOf } from "./failure.ts";
import { createHeldBytes, type Held } from "./held.ts";
import { refusal } from "./error-mapping.ts";
import { createResilience } from "./resilience.ts";
import { endedError, type RequestScope } from "../../request-scope.ts";
import { openStream } from "./stream.ts";
import {
  createTransport,
  MAX_ERROR_BYTES,
  type ResponseHead,
  type StreamedResponse,
  TransportError,
  type TransportSettings,
  type WireRequest,
} from "./transport.ts";

/** What came of one upstream request, told by its template. */
export interface UpstreamReport {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  readonly outcome: string;
  readonly ms: number;
}

export interface ClientSettings extends TransportSettings, AdmissionSettings {
  /** How many bytes of answers the scopes of one party may hold, after decompression. */
  readonly maxHeldBytes: number;
  /** How many times a failed GET is tried again. */
  readonly retries: number;
  /** Told of values that read as null because their type was wrong. */
  readonly onFault: (route: string, place: string) => void;
  /** Told of the cause behind a failed request: of a refused certificate, a reset connection, a slip of our own. */
  readonly onFailure: (cause: unknown) => void;
  readonly onRequest: (report: UpstreamReport) => void;
  /** Resolves when it is the turn of a party to have an answer read: reading holds the process. */
  readonly takeTurn: (party: string) => Promise<void>;
  /** Opens the span of one upstream request, by its method and route template. */
  readonly openSpan: (method: string, route: string) => UpstreamSpan;
}

export interface UpstreamSpan {
  /** The trace context to send; null when no span is made. */
  readonly traceparent: string | null;
  readonly run: <Answer>(act: () => Answer) => Answer;
  /** Ends it with the status that came, if any, and the code of the failure; null when there was none. */
  readonly end: (status: number | null, error: string | null) => void;
}

type Endpoint<At, Answer> = Get<At, Answer> | Command<At, Answer, never>;

/** One upstream request: a endpoint, its filled path with the query, and what goes with it. */
export interface UpstreamRequest<Answer> {
  readonly endpoint: Endpoint<never, Answer>;
  readonly path: string;
  readonly body?: string | null;
  /** What no message may repeat, beside the caller's token. */
  readonly secret?: string | null;
  /** The token to send, where it is not the caller's; null for none. */
  readonly token?: string | null;
  /** How many places of an operation's answer wait for this one now. */
  readonly waiting?: (() => number) | undefined;
  /** `Range` and `If-Range` of a download. */
  readonly range?: Readonly<Record<string, string>> | null;
}

export type ReadPart<Part> = (response: StreamedResponse, onHeld: (bytes: number) => void) => Promise<Part>;

/** The upstream requests of one scope. They wait for their turns together. */
export interface Upstream {
  /** Reads a whole answer. A GET is tried again when the service was out of reach; a command never is. */
  readonly json: <Answer>(request: UpstreamRequest<Answer>) => Promise<Answer>;
  /** Reads a part of a log, which tells how many bytes it holds; the rest is not fetched. */
  readonly readPart: <Part>(request: UpstreamRequest<unknown>, read: ReadPart<Part>) => Promise<Part>;
}

/** How busy the gateway is with the service, and how the service is. */
export type Pressure = ReturnType<Client["pressure"]>;
export type Client = ReturnType<typeof createClient>;

/** The one place that speaks to the service. Nothing of one caller is kept for another. */
export function createClient(settings: ClientSettings) {
  const transport = createTransport(settings);
  const admission = createAdmission(settings);
  const resilience = createResilience(settings);
  const heldOf = createHeldBytes(settings.maxHeldBytes);
  const root = `${settings.upstreamUrl.pathname.replace(/\/+$/, "")}/api/v1/`;

  const wireRequest = (
    { endpoint, path, body = null, token, range }: UpstreamRequest<unknown>,
    scope: RequestScope,
    traceparent: string | null,
  ): WireRequest => ({
    method: endpoint.method,
    path: root + path,
    headers: {
      ...headersOf({
        requestId: scope.requestId,
        traceparent,
        token: token === undefined ? scope.token : token,
        body,
        form: endpoint.answer.form,
      }),
      // A part of something compressed cannot be decompressed.
      ...(range && { ...range, "accept-encoding": "identity" }),
    },
    body,
    wantsBody: endpoint.answer.form === "json",
  });

  /** Runs one attempt: as a span, reported, its failures as the errors that callers see. */
  const observed = async <Part>(
    request: UpstreamRequest<unknown>,
    scope: RequestScope,
    run: (wire: WireRequest, onStatus: (status: number) => void) => Promise<Part>,
  ): Promise<Part> => {
    const { endpoint } = request;
    const began = performance.now();
    const span = settings.openSpan(endpoint.method, endpoint.path);
    const wire = wireRequest(request, scope, span.traceparent ?? scope.traceparent);
    let status: number | null = null;
    const report = (outcome: string, error: string | null) => {
      span.end(status, error);
      settings.onRequest({
        requestId: scope.requestId,
        method: endpoint.method,
        route: endpoint.path,
        outcome,
        ms: performance.now() - began,
      });
    };
    try {
      const part = await span.run(() => run(wire, (came) => (status = came)));
      report(status === null || status < 300 ? "2xx" : `${status}`, null);
      return part;
    } catch (thrown) {
      const failure = scope.ended()
        ? endedError(endpoint, scope, wasSent(thrown))
        : failureOf(endpoint, thrown);
      if (!scope.ended() && failure !== thrown) settings.onFailure(failure.cause ?? failure);
      report(outcomeOf(failure), codeOf(failure));
      throw failure;
    }
  };

  const askOnce = <Answer>(
    request: UpstreamRequest<Answer>,
    scope: RequestScope,
    held: Held,
  ): Promise<Answer> =>
    observed(request, scope, async (wire, onStatus) => {
      const response = await transport.whole(wire, scope, held.add);
      onStatus(response.status);
      await settings.takeTurn(scope.party);
      if (response.status >= 300) throw refuse(request, scope, response, response.body.toString("utf8"));
      return readAnswer(request, response, {
        onFault: settings.onFault,
        onHeld: held.add,
        pause: () => settings.takeTurn(scope.party),
      });
    });

  const openOnce = (request: UpstreamRequest<unknown>, scope: RequestScope): Promise<StreamedResponse> =>
    observed(request, scope, async (wire, onStatus) => {
      const response = await openStream(settings, wire, scope);
      const { status, stream } = response;
      onStatus(status);
      if (status < 300 || (status === 416 && request.range)) {
        const fault = faultOf(request, response);
        if (fault) stream.destroy();
        if (fault) throw fault;
        return response;
      }
      const text = await readWhole(stream, MAX_ERROR_BYTES).catch(() => "");
      throw refuse(request, scope, response, text.toString());
    });

  return {
    /** The upstream requests of a scope, within its bounds. */
    open: (scope: RequestScope, bounds: OperationBounds): Upstream => {
      const lane = admission.open(scope, bounds);
      const held = heldOf(scope);
      /** Sends a request when it is its turn. The function that is given may be called again: a retry is no new request. */
      const inTurn = <Part>({ endpoint, waiting }: UpstreamRequest<unknown>, send: () => Promise<Part>) => {
        const ticket = lane.ticketFor(endpoint, waiting);
        return async (): Promise<Part> => {
          const leave = await ticket();
          try {
            held.check();
            return await resilience.attempt(scope.party, send);
          } finally {
            leave();
          }
        };
      };
      return {
        json: (request) => {
          const send = inTurn(request, () => askOnce(request, scope, held));
          return request.endpoint.method === "GET" ? resilience.withRetry(scope, send) : send();
        },
        readPart: (request, read) =>
          resilience.withRetry(
            scope,
            inTurn(request, async () => {
              const response = await openOnce(request, scope);
              try {
                return await read(response, held.add);
              } catch (thrown) {
                throw scope.ended()
                  ? endedError(request.endpoint, scope, true)
                  : failureOf(request.endpoint, thrown);
              } finally {
                response.stream.destroy();
              }
            }),
          ),
      };
    },

    /** Opens a download. It does not wait among the others: its reader takes as long as it likes. */
    stream: (request: UpstreamRequest<unknown>, scope: RequestScope): Promise<StreamedResponse> =>
      resilience.attempt(scope.party, () => openOnce(request, scope)),

    /** Whether a new operation of a party would find no room in the queue: it need not begin. */
    refuses: admission.refuses,

    pressure: () => ({ ...admission.pressure(), circuit: resilience.circuit() }),
    reach: () => transport.reach(),
    close: () => transport.close(),
  };
}

/** Why a response that is no error cannot be passed on; null when it can. */
function faultOf({ endpoint, range }: UpstreamRequest<unknown>, response: StreamedResponse): Error | null {
  const { status, bodyHeaders, isHandedOver } = response;
  if (isHandedOver) {
    return new UpstreamError(
      "UPSTREAM_BAD_RESPONSE",
      "The service's application left the file to the web server in front of it. UPSTREAM_URL must name that web server, not the application.",
      { upstream: { method: endpoint.method, route: endpoint.path, status } },
    );
  }
  const isPart = status === 206;
  return isPart && !(range && bodyHeaders["content-range"]) ? new NotUnderstood() : null;
}

const refuse = (
  { endpoint, secret, token }: UpstreamRequest<unknown>,
  scope: RequestScope,
  head: ResponseHead,
  text: string,
) => refusal(endpoint, { ...head, text, secrets: [scope.token, token, secret] });

/** Whether the service can have seen a request that failed. */
const wasSent = (thrown: unknown): boolean => !(thrown instanceof TransportError) || thrown.wasSent;

/** The code of a failure; null when its caller left, which is none. */
const codeOf = (failure: Error): string | null =>
  failure instanceof UpstreamError
    ? failure.code
    : failure instanceof Cancelled
      ? null
      : "INTERNAL_SERVER_ERROR";

/** HTTP status, or the code of a failure without one. */
const outcomeOf = (failure: Error): string => {
  const status = failure instanceof UpstreamError ? failure.facts.upstream?.status : undefined;
  return `${status ?? codeOf(failure) ?? "CANCELLED"}`;
};

interface HeaderValues {
  readonly requestId: string;
  readonly traceparent: string | null;
  readonly token: string | null;
  readonly body: string | null;
  readonly form: string;
}

const headersOf = ({ requestId, traceparent, token, body, form }: HeaderValues): Record<string, string> => ({
  accept: form === "json" ? "application/json" : "*/*",
  "x-request-id": requestId,
  ...(traceparent === null ? {} : { traceparent }),
  ...(token === null ? {} : { authorization: `token ${token}` }),
  ...(body === null ? {} : { "content-type": "application/json" }),
});
