import type { Caller, CallerRegistry } from "../../callers/callers.ts";
import type { Clock } from "../../util/clock.ts";
import type { RequestScope } from "../../callers/request-scope.ts";
import type { AttemptSettings, ResponseConsumer } from "./attempt.ts";
import type { MemoryAccount } from "../../callers/bounded-buffer.ts";
import { createCircuitBreaker } from "./circuit-breaker.ts";
import { type ConnectorSettings, createConnector } from "./connector.ts";
import type { MemoryBudget } from "../../callers/memory-budget.ts";
import { Requester, type RequestLimits, type UpstreamCall, type QueuedCall } from "./upstream-call.ts";
import { createProbe } from "./probe.ts";
import type { UpstreamRequest } from "./request.ts";
import { checkStream, readResponse, type ReadSettings } from "./response.ts";
import { createRetries } from "./retry.ts";
import { type Pipeline, send, sendAdmitted } from "./pipeline.ts";
import { openResponse } from "./stream.ts";
import { createTransport, type StreamedResponse, type TransportSettings } from "./transport.ts";
import { type ConcurrencySettings, UpstreamAdmission } from "./upstream-admission.ts";
import { UpstreamClock } from "./upstream-clock.ts";

export interface ClientSettings
  extends
    Omit<TransportSettings, "connect">,
    ConnectorSettings,
    ConcurrencySettings,
    ReadSettings,
    Pick<AttemptSettings, "onFailure" | "onRequest" | "openSpan"> {
  readonly clock: Clock;
  /** The budget to which the bytes of responses are charged as they arrive, and the bytes that decompression adds. */
  readonly memoryBudget: MemoryBudget;
  readonly callers: CallerRegistry;
  readonly retries: number;
}

/** Reads part of a stream; returns it with its length in bytes. Destroys the stream unless the part needs it. Charges `account`. */
export type ReadChunk<Chunk> = (
  response: StreamedResponse,
  account: MemoryAccount,
) => Promise<{ readonly chunk: Chunk; readonly bytes: number }>;

/** Statistics of the upstream queue, and the state of the circuit. */
export type UpstreamStats = ReturnType<Client["stats"]>;
export type Client = ReturnType<typeof createClient>;

/** Limits of a probe or a download, which consists of one request. */
const ALONE: RequestLimits = { concurrency: 1, requests: 1, isBackground: false };

/** Creates the client of the upstream service. It caches nothing, so callers share no data. */
export function createClient(settings: ClientSettings) {
  const { requestFormat } = settings;
  const wireSettings = { ...settings, connect: createConnector(settings) };
  const transport = createTransport(wireSettings);
  const clock = new UpstreamClock();

  /** Reads a whole response. Uses callbacks, because a second promise would take as much time as the rest of this function. */
  const bufferResponse: ResponseConsumer<unknown> = (call, wire, stats) =>
    new Promise((resolve, reject) => {
      transport.send(wire, call.consumer, (failure, response) => {
        if (failure) return reject(failure);
        clock.observe(response);
        stats.status = response.status;
        stats.bytes = response.body.length;
        readResponse(call, response, settings, { resolve, reject });
      });
    });

  /** Opens a response as a stream. */
  const stream: ResponseConsumer<StreamedResponse> = async (call, wire, stats) => {
    const response = await openResponse(wireSettings, wire, call.consumer.lifetime);
    stats.status = response.status;
    clock.observe(response);
    return checkStream(call, response, requestFormat);
  };

  const attemptSettings = { ...settings, retries: createRetries(settings.retries) };
  /** Opens the upstream requests of a scope within its limits. */
  const open = (scope: RequestScope, bounds: RequestLimits = ALONE): Requester =>
    new Requester(scope, settings.memoryBudget.open(scope), bounds);
  const probe = createProbe({
    attempts: attemptSettings,
    consume: bufferResponse,
    open,
    clock: settings.clock,
  });
  const breaker = createCircuitBreaker({ now: settings.clock.now, probe });
  const admission = new UpstreamAdmission({ ...settings, breaker });
  const pipeline: Pipeline = { ...attemptSettings, admission };

  return {
    open,
    /** Dispatches a read when it is admitted. Rejects a read that cannot be admitted before its deadline. */
    enqueue: (read: QueuedCall): void => admission.enqueue(read),
    /** Rejects a read that has not been dispatched. */
    cancel: (read: QueuedCall): void => admission.cancel(read),
    /** Sends an admitted read of a whole response. */
    read: (read: QueuedCall): Promise<unknown> => sendAdmitted(pipeline, read, bufferResponse),
    /** Sends an admitted read of a part of a stream. */
    readChunk: <Chunk>(admitted: QueuedCall, read: ReadChunk<Chunk>): Promise<Chunk> =>
      sendAdmitted(pipeline, admitted, async (call, wire, stats) => {
        const response = await stream(call, wire, stats);
        try {
          const { chunk, bytes } = await read(response, call.consumer);
          stats.bytes = bytes;
          return chunk;
        } catch (error) {
          response.stream.destroy();
          throw error;
        }
      }),
    /** Sends a command. */
    command: <Answer>(call: UpstreamCall<Answer>): Promise<Answer> =>
      // Safe: the reader of the endpoint returns an `Answer`.
      send(pipeline, call, bufferResponse as ResponseConsumer<Answer>),
    /** Opens a download. */
    stream: (request: UpstreamRequest<unknown>, scope: RequestScope): Promise<StreamedResponse> => {
      const requester = open(scope);
      return send(pipeline, { request, requester, consumer: requester }, stream);
    },

    /** The time by the clock of the upstream service, in milliseconds since 1970. */
    upstreamTime: clock.now,

    shedLoad: (caller: Caller) => admission.shedLoad(caller),

    stats: () => ({
      ...admission.stats(),
      retries: attemptSettings.retries.total(),
      circuit: breaker.circuit(),
    }),
    reach: () => transport.reach(),
    close: () => transport.close(),
  };
}
