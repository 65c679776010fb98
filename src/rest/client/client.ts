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
  /** Runs an upstream request as a span of the caller's trace. */
  readonly trace: <Answer>(name: string, run: () => Promise<Answer>) => Promise<Answer>;
}

type Row<At, Answer> = Get<At, Answer> | Command<At, Answer, never>;

/** One upstream request: a row, its filled path with the query, and what goes with it. */
export interface UpstreamRequest<Answer> {
  readonly row: Row<never, Answer>;
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
    { row, path, body = null, token, range }: UpstreamRequest<unknown>,
    scope: RequestScope,
  ): WireRequest => ({
    method: row.method,
    path: root + path,
    headers: {
      ...headersOf(scope, {
        token: token === undefined ? scope.token : token,
        body,
        form: row.answer.form,
      }),
      // A part of something compressed cannot be decompressed.
      ...(range && { ...range, "accept-encoding": "identity" }),
    },
    body,
    wantsBody: row.answer.form === "json",
  });

  /** Runs one try: as a span, reported, its failures as the errors that callers see. */
  const observed = async <Part>(
    { row }: UpstreamRequest<unknown>,
    scope: RequestScope,
    run: () => Promise<Part>,
    outcomeOfPart: (part: Part) => string = () => "2xx",
  ): Promise<Part> => {
    const began = performance.now();
    const report = (outcome: string) =>
      settings.onRequest({
        requestId: scope.requestId,
        method: row.method,
        route: row.path,
        outcome,
        ms: performance.now() - began,
      });
    try {
      const part = await settings.trace(`${row.method} ${row.path}`, run);
      report(outcomeOfPart(part));
      return part;
    } catch (thrown) {
      const failure = scope.ended() ? endedError(row, scope, wasSent(thrown)) : failureOf(row, thrown);
      if (!scope.ended() && failure !== thrown) settings.onFailure(failure.cause ?? failure);
      report(outcomeOf(failure));
      throw failure;
    }
  };

  const askOnce = <Answer>(
    request: UpstreamRequest<Answer>,
    scope: RequestScope,
    held: Held,
  ): Promise<Answer> =>
    observed(request, scope, async () => {
      const response = await transport.whole(wireRequest(request, scope), scope, held.add);
      await settings.takeTurn(scope.party);
      if (response.status >= 300) throw refuse(request, scope, response, response.body.toString("utf8"));
      return readAnswer(request, response, {
        onFault: settings.onFault,
        onHeld: held.add,
        pause: () => settings.takeTurn(scope.party),
      });
    });

  const openOnce = (request: UpstreamRequest<unknown>, scope: RequestScope): Promise<StreamedResponse> =>
    observed(
      request,
      scope,
      async () => {
        const response = await openStream(settings, wireRequest(request, scope), scope);
        const { status, stream } = response;
        if (status < 300 || (status === 416 && request.range)) {
          const fault = faultOf(request, response);
          if (fault) stream.destroy();
          if (fault) throw fault;
          return response;
        }
        const text = await readWhole(stream, MAX_ERROR_BYTES).catch(() => "");
        throw refuse(request, scope, response, text.toString());
      },
      ({ status }) => (status < 300 ? "2xx" : `${status}`),
    );

  return {
    /** The upstream requests of a scope, within its bounds. */
    open: (scope: RequestScope, bounds: OperationBounds): Upstream => {
      const lane = admission.open(scope, bounds);
      const held = heldOf(scope);
      /** Sends a request when it is its turn. The function that is given may be called again: a retry is no new request. */
      const inTurn = <Part>({ row, waiting }: UpstreamRequest<unknown>, send: () => Promise<Part>) => {
        const ticket = lane.ticketFor(row, waiting);
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
          return request.row.method === "GET" ? resilience.withRetry(scope, send) : send();
        },
        readPart: (request, read) =>
          resilience.withRetry(
            scope,
            inTurn(request, async () => {
              const response = await openOnce(request, scope);
              try {
                return await read(response, held.add);
              } catch (thrown) {
                throw scope.ended() ? endedError(request.row, scope, true) : failureOf(request.row, thrown);
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
function faultOf({ row, range }: UpstreamRequest<unknown>, response: StreamedResponse): Error | null {
  const { status, bodyHeaders, isHandedOver } = response;
  if (isHandedOver) {
    return new UpstreamError(
      "UPSTREAM_BAD_RESPONSE",
      "The service's application left the file to the web server in front of it. UPSTREAM_URL must name that web server, not the application.",
      { upstream: { method: row.method, route: row.path, status } },
    );
  }
  const isPart = status === 206;
  return isPart && !(range && bodyHeaders["content-range"]) ? new NotUnderstood() : null;
}

const refuse = (
  { row, secret, token }: UpstreamRequest<unknown>,
  scope: RequestScope,
  head: ResponseHead,
  text: string,
) => refusal(row, { ...head, text, secrets: [scope.token, token, secret] });

/** Whether the service can have seen a request that failed. */
const wasSent = (thrown: unknown): boolean => !(thrown instanceof TransportError) || thrown.wasSent;

/** HTTP status, or the code of a failure without one. */
const outcomeOf = (failure: Error): string =>
  failure instanceof UpstreamError
    ? `${failure.facts.upstream?.status ?? failure.code}`
    : failure instanceof Cancelled
      ? "CANCELLED"
      : "INTERNAL_SERVER_ERROR";

function headersOf(
  { requestId, traceparent }: RequestScope,
  {
    token,
    body,
    form,
  }: { readonly token: string | null; readonly body: string | null; readonly form: string },
): Record<string, string> {
  const trace = traceparent();
  return {
    accept: form === "json" ? "application/json" : "*/*",
    "x-request-id": requestId,
    ...(trace === null ? {} : { traceparent: trace }),
    ...(token === null ? {} : { authorization: `token ${token}` }),
    ...(body === null ? {} : { "content-type": "application/json" }),
  };
}
