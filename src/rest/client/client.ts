import type { Caller, CallerRegistry } from "../../callers/callers.ts";
import type { Clock } from "../../util/clock.ts";
import type { RateLimit } from "../../util/sliding-window.ts";
import type { RequestScope } from "../../callers/request-scope.ts";
import type { AttemptSettings, ResponseConsumer } from "./attempt.ts";
import type { MemoryAccount } from "../../callers/collector.ts";
import { createCircuitBreaker } from "./circuit-breaker.ts";
import { ConnectionLimiter, type ConnectionSettings } from "./connection-limiter.ts";
import { type ConnectorSettings, createConnector } from "./connector.ts";
import type { MemoryBudget } from "../../callers/memory-budget.ts";
import { Requester, type RequestLimits, type UpstreamCall, type QueuedCall } from "./upstream-call.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { createProbe } from "./probe.ts";
import type { UpstreamRequest } from "./request.ts";
import { checkStream, readResponse, type ReadSettings } from "./response.ts";
import { createRetries } from "./retry.ts";
import { sendThroughPipeline, type Pipeline } from "./pipeline.ts";
import { openResponse } from "./stream.ts";
import { createTransport, type StreamedResponse, type TransportSettings } from "./transport.ts";
import { UpstreamClock } from "./upstream-clock.ts";

export interface ClientSettings
  extends
    Omit<TransportSettings, "connect">,
    ConnectorSettings,
    ConnectionSettings,
    ReadSettings,
    Pick<AttemptSettings, "onFailure" | "onRequest" | "openSpan"> {
  readonly clock: Clock;
  /** Charged for the bytes of responses as they arrive, and for those that decompression adds. */
  readonly memoryBudget: MemoryBudget;
  readonly callers: CallerRegistry;
  readonly retries: number;
}

/** Reads part of a stream, and its length in bytes. Destroys the stream unless it keeps it. Charges the account for memory. */
export type ReadChunk<Chunk> = (
  response: StreamedResponse,
  account: MemoryAccount,
) => Promise<{ readonly chunk: Chunk; readonly bytes: number }>;

/** The load of the upstream queue and the state of the circuit. */
export type UpstreamLoad = ReturnType<Client["load"]>;
export type Client = ReturnType<typeof createClient>;

/** The limits of a probe or a download: one request, which waits in no queue. */
const ALONE: RequestLimits = { concurrency: 0, requests: 1, isBackground: false };

/** Creates the client of the upstream service. It caches nothing, so callers share no data. */
export function createClient(settings: ClientSettings) {
  const { requestFormat, callers } = settings;
  const wireSettings = { ...settings, connect: createConnector(settings) };
  const transport = createTransport(wireSettings);
  const clock = new UpstreamClock();

  /** Reads a whole response. With callbacks, because a promise would cost as much as the rest. */
  const whole: ResponseConsumer<unknown> = (call, wire, watch) =>
    new Promise((resolve, reject) => {
      transport.send(wire, call.consumer, (failure, response) => {
        if (failure) return reject(failure);
        clock.observe(response);
        watch.status = response.status;
        watch.bytes = response.body.length;
        readResponse(call, response, settings, { resolve, reject });
      });
    });

  /** Opens a response as a stream. */
  const stream: ResponseConsumer<StreamedResponse> = async (call, wire, watch) => {
    const response = await openResponse(wireSettings, wire, call.consumer.lifetime);
    watch.status = response.status;
    clock.observe(response);
    return checkStream(call, response, requestFormat);
  };

  const attemptSettings = { ...settings, retries: createRetries(settings.retries) };
  /** Opens the upstream requests of a scope within its limits. */
  const open = (scope: RequestScope, bounds: RequestLimits = ALONE): Requester => {
    const queue = bounds.concurrency > 0 ? connectionLimiter.open(scope, bounds.concurrency) : null;
    return new Requester(scope, settings.memoryBudget.open(scope), queue, bounds);
  };
  const probe = createProbe({ attempts: attemptSettings, consume: whole, open, clock: settings.clock });
  const breaker = createCircuitBreaker({ now: settings.clock.now, probe });
  const connectionLimiter = new ConnectionLimiter(settings, callers, breaker);
  const rateLimiters = callers.perCaller(() => new Map<RateLimit | null, RateLimiter>());
  const rateLimiterOf = ({ request, requester }: UpstreamCall): RateLimiter | null => {
    const { token, caller } = requester.scope;
    const { token: sent = token } = request;
    if (sent === null) return null;
    const own = rateLimiters.of(sent === token ? caller : callers.withToken(sent, caller.address));
    const limit = requestFormat.limitOf(request.endpoint);
    const rateLimiter = own.get(limit) ?? new RateLimiter(settings.clock, limit);
    own.set(limit, rateLimiter);
    return rateLimiter;
  };
  const pipeline: Pipeline = {
    ...attemptSettings,
    breaker,
    connectionLimiter: connectionLimiter,
    rateLimiterOf,
  };

  return {
    open,
    /** Sends a request for a whole response. */
    json: <Answer>(
      call: UpstreamCall<Answer>,
      isConnected = false,
      // Safe: the reader of the endpoint reads its answers.
    ): Promise<Answer> => sendThroughPipeline(pipeline, call, isConnected, whole as ResponseConsumer<Answer>),
    chunk: <Chunk>(call: UpstreamCall, isConnected: boolean, read: ReadChunk<Chunk>): Promise<Chunk> =>
      sendThroughPipeline(pipeline, call, isConnected, async (_, wire, watch) => {
        const response = await stream(call, wire, watch);
        try {
          const { chunk, bytes } = await read(response, call.consumer);
          watch.bytes = bytes;
          return chunk;
        } catch (error) {
          response.stream.destroy();
          throw error;
        }
      }),

    stream: (request: UpstreamRequest<unknown>, scope: RequestScope): Promise<StreamedResponse> => {
      const requester = open(scope);
      return sendThroughPipeline(pipeline, { request, requester, consumer: requester }, false, stream);
    },

    /** Dispatches a read when it has a connection; at once where the rate limiter may delay it, which may reject the whole operation. */
    queue: (read: QueuedCall, requester: Requester): void => {
      if (rateLimiterOf(read.call)?.mightWait(requester)) read.dispatch(false);
      else connectionLimiter.queue(read, requester);
    },

    /** The time by the clock of the upstream service, in milliseconds since 1970. */
    upstreamTime: clock.now,

    shedLoad: (caller: Caller) => connectionLimiter.shedLoad(caller),

    load: () => ({
      ...connectionLimiter.load(),
      retries: attemptSettings.retries.total(),
      circuit: breaker.circuit(),
    }),
    reach: () => transport.reach(),
    close: () => transport.close(),
  };
}
