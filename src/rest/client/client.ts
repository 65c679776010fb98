import type { Caller, Callers } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import type { RateLimit } from "../../rate.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { AttemptSettings, Exchange } from "./attempt.ts";
import type { Holder } from "./body.ts";
import { createBreaker } from "./breaker.ts";
import { Connections, type ConnectionSettings } from "./connections.ts";
import { type ConnectorSettings, createConnector } from "./connector.ts";
import type { HeldBytes } from "../../held.ts";
import { Requester, type RequesterBounds, type Order, type Waiter } from "./order.ts";
import { Pacer } from "./pacer.ts";
import { createProbe } from "./probe.ts";
import type { UpstreamRequest } from "./request.ts";
import { checkStream, readResponse, type ReadSettings } from "./response.ts";
import { createRetries } from "./retry.ts";
import { ask, type Road } from "./road.ts";
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
  /** Counts the bytes of responses as they come, and those that they have more when decompressed. */
  readonly heldBytes: HeldBytes;
  readonly callers: Callers;
  readonly retries: number;
}

/** Reads part of a stream, and its length in bytes. Ends the stream unless that is kept. The holder counts what is in memory. */
export type ReadPart<Part> = (
  response: StreamedResponse,
  holder: Holder,
) => Promise<{ readonly part: Part; readonly bytes: number }>;

/** The load of the upstream queue and the state of the circuit. */
export type Pressure = ReturnType<Client["pressure"]>;
export type Client = ReturnType<typeof createClient>;

/** The bounds of a probe or a download, which is one request, and waits in no line. */
const ALONE: RequesterBounds = { width: 0, requests: 1, yields: false };

/** Creates the client for the service. It caches nothing, so callers share no data. */
export function createClient(settings: ClientSettings) {
  const { dialect, callers } = settings;
  const wireSettings = { ...settings, connect: createConnector(settings) };
  const transport = createTransport(wireSettings);
  const clock = new UpstreamClock();

  /** Reads a whole response. Callbacks, because here each promise of a read costs as much as the rest. */
  const whole: Exchange<unknown> = (order, wire, watch) =>
    new Promise((resolve, reject) => {
      transport.send(wire, order.asker, (failure, response) => {
        if (failure) return reject(failure);
        clock.observe(response);
        watch.status = response.status;
        watch.bytes = response.body.length;
        readResponse(order, response, settings, { resolve, reject });
      });
    });

  /** Opens a response that is read as long as its reader takes. */
  const stream: Exchange<StreamedResponse> = async (order, wire, watch) => {
    const response = await openResponse(wireSettings, wire, order.asker.life);
    watch.status = response.status;
    clock.observe(response);
    return checkStream(order, response, dialect);
  };

  const attemptSettings = { ...settings, retries: createRetries(settings.retries) };
  /** Opens the upstream requests of a scope within its limits. */
  const open = (scope: RequestScope, bounds: RequesterBounds = ALONE): Requester => {
    const line = bounds.width > 0 ? connections.open(scope, bounds.width) : null;
    return new Requester(scope, settings.heldBytes.open(scope), line, bounds);
  };
  const probe = createProbe({ attempts: attemptSettings, exchange: whole, open, clock: settings.clock });
  const breaker = createBreaker({ now: settings.clock.now, probe });
  const connections = new Connections(settings, callers, breaker);
  const pacers = callers.keep(() => new Map<RateLimit | null, Pacer>());
  const pacerOf = ({ request, requester }: Order): Pacer | null => {
    const { token, caller } = requester.scope;
    const { token: sent = token } = request;
    if (sent === null) return null;
    const own = pacers.of(sent === token ? caller : callers.withToken(sent, caller.address));
    const limit = dialect.limitOf(request.endpoint);
    const pacer = own.get(limit) ?? new Pacer(settings.clock, limit);
    own.set(limit, pacer);
    return pacer;
  };
  const road: Road = { ...attemptSettings, breaker, connections, pacerOf };

  return {
    open,
    /** Asks for a whole response. A failed GET may be asked again; a command never is. */
    json: <Answer>(
      order: Order<Answer>,
      isConnected = false,
      // Safe: the reader of the endpoint reads its answers.
    ): Promise<Answer> => ask(road, order, isConnected, whole as Exchange<Answer>),
    part: <Part>(order: Order, isConnected: boolean, read: ReadPart<Part>): Promise<Part> =>
      ask(road, order, isConnected, async (_, wire, watch) => {
        const response = await stream(order, wire, watch);
        try {
          const { part, bytes } = await read(response, order.asker);
          watch.bytes = bytes;
          return part;
        } catch (error) {
          response.stream.destroy();
          throw error;
        }
      }),

    stream: (request: UpstreamRequest<unknown>, scope: RequestScope): Promise<StreamedResponse> => {
      const requester = open(scope);
      return ask(road, { request, requester, asker: requester }, false, stream);
    },

    /** Lets a read go when it has a connection; at once where the pace must know of it, to refuse whole operations that are late. */
    queue: (read: Waiter, requester: Requester): void => {
      if (pacerOf(read.order)?.mayDelay(requester)) read.go(false);
      else connections.queue(read, requester);
    },

    /** The time by the clock of the upstream service, in milliseconds since 1970. */
    upstreamTime: clock.now,

    turnAway: (caller: Caller) => connections.turnAway(caller),

    pressure: () => ({
      ...connections.pressure(),
      retries: attemptSettings.retries.total(),
      circuit: breaker.circuit(),
    }),
    reach: () => transport.reach(),
    close: () => transport.close(),
  };
}
