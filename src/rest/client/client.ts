import type { Caller, Callers } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import type { RequestScope } from "../../request-scope.ts";
import { Admission, type AdmissionSettings } from "./admission.ts";
import { Allowances } from "./allowance.ts";
import { Attempt, type AttemptSettings, type Outcome, type Send } from "./attempt.ts";
import { createBreaker } from "./breaker.ts";
import { Call, type Operation } from "./call.ts";
import { throttledError } from "./failure.ts";
import type { Held, HeldBytes } from "../../held.ts";
import type { OperationBounds } from "./operation-queue.ts";
import { createProbe, type ProbeSettings } from "./probe.ts";
import { type Dialect, RequestHeaders, type UpstreamRequest } from "./request.ts";
import type { Replicas } from "./replicas.ts";
import { checkStream, type JsonSettings, readResponse } from "./response.ts";
import { createRetries, throttledMs } from "./retry.ts";
import { callShared, type LastOutcome, sharedReadOf, takeLast } from "./shared-call.ts";
import { openStream } from "./stream.ts";
import {
  createTransport,
  type StreamedResponse,
  type TransportSettings,
  type WholeResponse,
} from "./transport.ts";

export interface ClientSettings
  extends
    TransportSettings,
    AdmissionSettings,
    Pick<ProbeSettings, "dialect">,
    Pick<AttemptSettings, "onFailure" | "onRequest" | "openSpan"> {
  readonly clock: Clock;
  /** Counts the bytes of responses, after decompression. */
  readonly heldBytes: HeldBytes;
  readonly callers: Callers;
  /** The other processes of the installation; null when they share nothing. */
  readonly replicas: Replicas | null;
  /** Maximum retries of a failed GET. */
  readonly retries: number;
  /** Receives the place of each value that reads as null because its type is wrong. */
  readonly onFault: (route: string, place: string) => void;
  /** Creates the turns of an operation of the caller, in which its responses are parsed: that blocks the event loop. */
  readonly turnsFor: (caller: Caller) => (work: () => void) => void;
}

/** Reads part of a stream, and ends it unless that is kept. Calls `hold` with the number of bytes that it keeps. */
export type ReadPart<Part> = (response: StreamedResponse, hold: (bytes: number) => void) => Promise<Part>;

/** Sends the upstream requests of one scope. */
export interface Upstream {
  /** Reads a whole response. A failed GET may be retried; a command never is. */
  readonly json: <Answer>(request: UpstreamRequest<Answer>, outcome: Outcome<Answer>) => void;
  /** Reads the last response that any process has got, for while the service gives none. */
  readonly last: <Answer>(request: UpstreamRequest<Answer>, outcome: LastOutcome<Answer>) => void;
  /** Reads part of a log. */
  readonly readPart: <Part>(
    request: UpstreamRequest<unknown>,
    read: ReadPart<Part>,
    outcome: Outcome<Part>,
  ) => void;
  /** The bytes of responses that the scope holds. */
  readonly held: Held;
  /** The other processes, with which reads may be shared; null without any. */
  readonly replicas: Replicas | null;
}

/** The load of the upstream queue and the state of the circuit. */
export type Pressure = ReturnType<Client["pressure"]>;
export type Client = ReturnType<typeof createClient>;

/** Creates the client for the service. It caches nothing, so callers share no data. */
export function createClient(settings: ClientSettings) {
  const transport = createTransport(settings);
  const common = {
    retries: createRetries(settings.retries),
    onFailure: settings.onFailure,
    onRequest: settings.onRequest,
    openSpan: settings.openSpan,
  };

  /** Sends a request and reads its whole response. */
  const whole =
    <Answer>(
      request: UpstreamRequest<Answer>,
      reading: JsonSettings,
      onBody?: (response: WholeResponse) => void,
    ): Send<Answer> =>
    (attempt, wire) =>
      transport.send(wire, attempt.scope, {
        onBytes: (bytes) => attempt.hold(bytes),
        onFailure: (error) => attempt.fail(error),
        onResponse: (response) => {
          attempt.respond(response.status);
          attempt.receive(response.body.length);
          onBody?.(response);
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
  const allowances = new Allowances(settings.clock, settings.callers, settings.replicas);
  const attempts = { ...common, breaker, allowances };

  /** Streams a response and reads it as long as `read` takes. */
  const stream =
    <Part>(
      dialect: Dialect,
      read: (response: StreamedResponse, attempt: Attempt<Part>) => Promise<Part>,
    ): Send<Part> =>
    (attempt, wire) => {
      const { scope, request } = attempt;
      openStream(settings, wire, scope)
        .then((response) => {
          attempt.respond(response.status);
          return checkStream(request, response, secretsFor(scope, dialect)).then((checked) =>
            read(checked, attempt),
          );
        })
        .then(
          (part) => attempt.succeed(part),
          (error: unknown) => attempt.fail(error),
        );
    };

  return {
    /** Opens the upstream requests of a scope within its limits. */
    open: (scope: RequestScope, bounds: OperationBounds, dialect: Dialect): Upstream => {
      const held = settings.heldBytes.open(scope);
      const operation: Operation = {
        scope,
        headers: new RequestHeaders(dialect, scope),
        queue: admission.open(scope, bounds),
        held,
        allowance: allowances.of(scope.caller, dialect.rateLimit),
      };
      const takeTurn = settings.turnsFor(scope.caller);
      const reading = { onFault: settings.onFault, takeTurn, secrets: secretsFor(scope, dialect) };
      const sharedOf = <Answer>(request: UpstreamRequest<Answer>) => {
        const { replicas } = settings;
        const read = replicas && sharedReadOf(request, scope, bounds, replicas, dialect);
        return read && { replicas, read, request, scope, held, reading };
      };
      return {
        json: <Answer>(request: UpstreamRequest<Answer>, outcome: Outcome<Answer>) => {
          const sendOwn = (own: Outcome<Answer>, onBody?: (response: WholeResponse) => void) =>
            void new Call(attempts, operation, request, whole(request, reading, onBody), own);
          const shared = sharedOf(request);
          if (shared) void callShared(shared, outcome, sendOwn);
          else sendOwn(outcome);
        },
        last: (request, outcome) => {
          const shared = settings.replicas?.staleMs ? sharedOf(request) : null;
          if (shared) void takeLast(shared, outcome);
          else outcome.failed();
        },
        readPart: <Part>(request: UpstreamRequest<unknown>, read: ReadPart<Part>, outcome: Outcome<Part>) => {
          const send = stream<Part>(dialect, async (response, attempt) => {
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
          void new Call(attempts, operation, request, send, outcome);
        },
        held,
        replicas: settings.replicas,
      };
    },

    /** Opens a download. It is not queued, because its duration depends on the caller. */
    stream: async (request: UpstreamRequest<unknown>, scope: RequestScope, dialect: Dialect) => {
      const allowance = allowances.of(scope.caller, dialect.rateLimit);
      if (!allowance.takeAtOnce(false)) throw throttledError(request.endpoint, allowance.waitMs(false));
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
          attempt = new Attempt(attempts, request, scope, outcome, null);
        } catch (error) {
          allowance.giveBack();
          throw error;
        }
        allowance.send();
        attempt.send(
          new RequestHeaders(dialect, scope),
          stream(dialect, (response) => Promise.resolve(response)),
        );
      });
    },

    /** Whether the queue has no room for a new operation of the caller. */
    isQueueFull: (caller: Caller) => admission.isQueueFull(caller),

    pressure: () => ({ ...admission.pressure(), circuit: breaker.circuit() }),
    reach: () => transport.reach(),
    renew: () => transport.renew(),
    close: () => transport.close(),
  };
}

const secretsFor = ({ token }: RequestScope, { secrets }: Dialect) => [token, ...secrets];
