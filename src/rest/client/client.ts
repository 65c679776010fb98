import type { Caller, Callers } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import type { RequestScope } from "../../request-scope.ts";
import { Admission, type AdmissionSettings } from "./admission.ts";
import { createAllowances } from "./allowance.ts";
import { Attempt, type AttemptSettings, type Outcome, type Send } from "./attempt.ts";
import { type ConnectorSettings, createConnector } from "./connector.ts";
import { createBreaker } from "./breaker.ts";
import { Call, type Operation } from "./call.ts";
import { throttledError } from "./failure.ts";
import type { HeldBytes } from "../../held.ts";
import type { OperationBounds } from "./operation-queue.ts";
import { createProbe } from "./probe.ts";
import { type Dialect, RequestHeaders, type UpstreamRequest } from "./request.ts";
import { checkStream, type JsonSettings, readResponse } from "./response.ts";
import { createRetries, throttledMs } from "./retry.ts";
import { openStream } from "./stream.ts";
import { createTransport, type StreamedResponse, type TransportSettings } from "./transport.ts";

export interface ClientSettings
  extends
    Omit<TransportSettings, "connect">,
    ConnectorSettings,
    AdmissionSettings,
    Pick<AttemptSettings, "onFailure" | "onRequest" | "openSpan"> {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Counts the bytes of responses, after decompression. */
  readonly heldBytes: HeldBytes;
  readonly callers: Callers;
  readonly retries: number;
  /** Receives the place of each value that reads as null because its type is wrong. */
  readonly onFault: (route: string, place: string) => void;
  /** Creates the turns of an operation of the caller, in which its responses are parsed: that blocks the event loop. */
  readonly turnsFor: (caller: Caller) => (work: () => void) => void;
}

/** Reads part of a stream, and ends it unless that is kept. Calls `hold` with the number of bytes that it keeps. */
export type ReadPart<Part> = (response: StreamedResponse, hold: (bytes: number) => void) => Promise<Part>;

/** The load of the upstream queue and the state of the circuit. */
export type Pressure = ReturnType<Client["pressure"]>;
export type Client = ReturnType<typeof createClient>;
/** Sends the upstream requests of one scope. */
export type Upstream = ReturnType<Client["open"]>;

/** Creates the client for the service. It caches nothing, so callers share no data. */
export function createClient(settings: ClientSettings) {
  const { dialect } = settings;
  const secretsFor = ({ token }: RequestScope) => [token, ...dialect.secrets];
  const wireSettings = { ...settings, connect: createConnector(settings) };
  const transport = createTransport(wireSettings);
  const common = {
    retries: createRetries(settings.retries),
    onFailure: settings.onFailure,
    onRequest: settings.onRequest,
    openSpan: settings.openSpan,
  };

  const whole =
    <Answer>(request: UpstreamRequest<Answer>, reading: JsonSettings): Send<Answer> =>
    (attempt, wire) =>
      transport.send(wire, attempt.scope, {
        onBytes: (bytes) => attempt.hold(bytes),
        onFailure: (error) => attempt.fail(error),
        onResponse: (response) => {
          attempt.respond(response.status);
          attempt.receive(response.body.length);
          reading.takeTurn(() => readResponse(request, response, reading, attempt));
        },
      });

  const probe = createProbe({
    ...settings,
    attempts: common,
    sendWhole: (request) =>
      whole(request, { onFault: settings.onFault, takeTurn: (work) => work(), secrets: [] }),
  });
  const breaker = createBreaker({ now: settings.clock.now, probe });
  const admission = new Admission(settings, settings.callers, breaker);
  const allowanceOf = createAllowances(settings.clock, dialect.rateLimit);
  const calls = {
    ...common,
    breaker,
    allowanceOf: (token: string, { address }: Caller) => allowanceOf(settings.callers.of(token, address)),
  };

  /** Streams a response and reads it as long as `read` takes. */
  const stream =
    <Part>(read: (response: StreamedResponse, attempt: Attempt<Part>) => Promise<Part>): Send<Part> =>
    (attempt, wire) => {
      const { scope, request } = attempt;
      openStream(wireSettings, wire, scope)
        .then((response) => {
          attempt.respond(response.status);
          return checkStream(request, response, secretsFor(scope)).then((checked) => read(checked, attempt));
        })
        .then(
          (part) => attempt.succeed(part),
          (error: unknown) => attempt.fail(error),
        );
    };

  return {
    /** Opens the upstream requests of a scope within its limits. */
    open: (scope: RequestScope, bounds: OperationBounds) => {
      const held = settings.heldBytes.open(scope);
      const operation: Operation = {
        scope,
        headers: new RequestHeaders(dialect, scope),
        queue: admission.open(scope, bounds),
        held,
        allowance: allowanceOf(scope.caller),
      };
      const takeTurn = settings.turnsFor(scope.caller);
      const reading = { onFault: settings.onFault, takeTurn, secrets: secretsFor(scope) };
      const call = <Part>(request: UpstreamRequest<unknown>, send: Send<Part>, outcome: Outcome<Part>) => {
        bounds.onRequest?.();
        void new Call(calls, operation, request, send, outcome);
      };
      return {
        /** Reads a whole response. A failed GET may be retried; a command never is. */
        json: <Answer>(request: UpstreamRequest<Answer>, outcome: Outcome<Answer>): void =>
          call(request, whole(request, reading), outcome),
        /** Reads part of a log. */
        readPart: <Part>(
          request: UpstreamRequest<unknown>,
          read: ReadPart<Part>,
          outcome: Outcome<Part>,
        ): void => {
          const send = stream<Part>(async (response, attempt) => {
            try {
              return await read(response, (bytes) => {
                attempt.receive(bytes);
                attempt.hold(bytes);
              });
            } catch (error) {
              response.stream.destroy();
              throw error;
            }
          });
          call(request, send, outcome);
        },
        /** The bytes of responses that the scope holds. */
        held,
      };
    },

    /** Opens a download. It is not queued, because its duration depends on the caller. */
    stream: async (request: UpstreamRequest<unknown>, scope: RequestScope) => {
      const allowance = allowanceOf(scope.caller);
      if (!allowance.take(false)) throw throttledError(request.endpoint, allowance.waitMs(false));
      if (breaker.isHalfOpen()) await new Promise<void>((resume) => breaker.wait({ request, scope }, resume));
      return new Promise<StreamedResponse>((resolve, reject) => {
        const outcome = {
          succeeded: (response: StreamedResponse) => {
            allowance.end(null);
            resolve(response);
          },
          failed: (error: unknown) => {
            allowance.end(throttledMs(error));
            reject(error);
          },
        };
        let attempt: Attempt<StreamedResponse>;
        try {
          attempt = new Attempt(calls, request, scope, outcome, null);
        } catch (error) {
          allowance.giveBack();
          throw error;
        }
        allowance.send();
        attempt.send(
          new RequestHeaders(dialect, scope),
          stream((response) => Promise.resolve(response)),
        );
      });
    },

    /** Whether the queue has no room for a new operation of the caller. */
    isQueueFull: (caller: Caller) => admission.isQueueFull(caller),

    pressure: () => ({
      ...admission.pressure(),
      retries: common.retries.total(),
      circuit: breaker.circuit(),
    }),
    reach: () => transport.reach(),
    close: () => transport.close(),
  };
}
