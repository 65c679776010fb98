import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  parse,
} from "graphql";
import { CloseCode, handleProtocols, makeServer } from "graphql-ws";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../clock.ts";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import type { Engine, Operation, OperationFacts } from "../../engine/engine.ts";
import type { PlacedContext } from "../../engine/field-source.ts";
import type { Meter } from "../../engine/meter.ts";
import type { OpenStream } from "../../engine/subscription.ts";
import { statusOf, UpstreamError } from "../../errors.ts";
import type { OperationReport } from "../../observability/reports.ts";
import { traceIdOf } from "../../observability/tracing.ts";
import { RequestScope } from "../../request-scope.ts";
import { TransientList } from "../../transient.ts";
import type { Doors, Place } from "../doors.ts";
import type { Identify } from "../identity.ts";
import { isAmong, type Origins } from "../origins.ts";
import { refuse } from "../server.ts";
import { toJson } from "./encoding.ts";
import { mayBeIncremental, messagesOf } from "./pieces.ts";
import { Connection } from "./web-socket-connection.ts";

export interface SocketSettings {
  readonly schema: GraphQLSchema;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly identify: Identify;
  readonly doors: Doors;
  /** Origins whose pages may connect, besides the gateway's own. */
  readonly origins: Origins;
  /** Longest message of a client, in bytes. */
  readonly maxBytes: number;
  /** How long a client may not read, in milliseconds. */
  readonly readTimeoutMs: number;
  /** Deadline of a query and of one event, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** Opens the stream of a subscription that came with these headers. */
  readonly openStream: (request: IncomingMessage, scope: RequestScope) => OpenStream;
  /** Opens the context of a query that came with these headers. */
  readonly openContext: (request: IncomingMessage, scope: RequestScope, pacing: Meter) => PlacedContext;
  readonly onOperation: (report: OperationReport, headers: IncomingHttpHeaders) => void;
}

/** Stands for every operation: the engine has read the document when `graphql-ws` asks what it is. */
const READ = parse("subscription { read }");

/** Safe: an error as JSON has a message. */
const formatted = (error: GraphQLError) => toJson(error) as GraphQLFormattedError;

/** The message of a single result. */
const messageOf = ({ errors, data = null }: ExecutionResult): object => ({
  ...(errors && errors.length > 0 && { errors: errors.map(toJson) }),
  data,
});

/** Accepts WebSockets at `/graphql`, for subscriptions and for queries in pieces, by the protocol of `graphql-ws`. */
export function createWebSockets(settings: SocketSettings) {
  const { schema, engine, identify, doors, origins, requestTimeoutMs } = settings;
  const connections = new TransientList<Connection>();
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: settings.maxBytes,
    perMessageDeflate: false,
    // One message a turn of the event loop: a client that sends many at once does not hold up the others.
    allowSynchronousEvents: false,
    handleProtocols: (protocols) => handleProtocols(protocols),
  });

  /**
   * Begins an operation with the headers of a connection. Resolves with its messages, or with errors when it cannot begin.
   * Tells what to call when the client leaves it before.
   */
  const begin = async (
    request: IncomingMessage,
    params: OperationParams,
    onBegin: (leave: () => void) => void,
  ): Promise<AsyncIterableIterator<object> | object | readonly GraphQLError[]> => {
    const identity = identify(request);
    const { requestId, caller } = identity;
    const began = performance.now();
    const facts: OperationFacts = { type: "invalid", name: null, hash: null, codes: [], failed: [] };
    const scope = new RequestScope(identity, requestTimeoutMs);
    onBegin(() => scope.end("left"));
    const report = () => {
      scope.end("done");
      const { upstreamRequests } = scope;
      const traceId = traceIdOf(identity.traceparent);
      const result = { status: null, upstreamRequests, ms: performance.now() - began };
      settings.onOperation({ requestId, traceId, caller, ...facts, ...result }, request.headers);
    };
    const finish = (result: ExecutionResult) => engine.finish(result, requestId);
    if (mayBeIncremental(params) && (await engine.typeOf(params, scope)) === "query") {
      const openContext: Operation["openContext"] = (pacing) => {
        const rejection = doors.admit("operation", scope);
        if (rejection) throw rejection;
        return settings.openContext(request, scope, pacing);
      };
      const operation = { scope, facts, openContext, extensions: null };
      const limits = { isReadOnly: true, isIncremental: true };
      const { pieces, ...result } = await engine.run(operation, params, limits);
      if (pieces) {
        const messages = messagesOf({ ...result, pieces }, false, { finish, extensions: null });
        // First the pieces: a generator returns only after the message for which it waits.
        const leave = () => (pieces.return(), messages.return(undefined));
        return converted({ next: () => messages.next(), return: leave }, (message) => message, report);
      }
      report();
      const finished = finish(result);
      return finished.data === undefined ? (finished.errors ?? []) : messageOf(finished);
    }
    const openStream = () => settings.openStream(request, scope);
    const opened = await engine.subscribe({ scope, params, facts, openStream });
    report();
    if (!("results" in opened)) return finish(opened).errors ?? [];
    return converted(opened.results, (result) => messageOf(finish(result)));
  };

  const server = makeServer<Record<string, unknown>, Connection>({
    onConnect: ({ extra: connection, connectionParams }) => {
      const given = Object.entries(connectionParams ?? {}).find(
        ([name]) => name.toLowerCase() === "authorization",
      )?.[1];
      if (typeof given !== "string") return true;
      connection.authorization = given;
      return connection.moveTo(identify(requestOf(connection)).caller);
    },
    onSubscribe: ({ extra: connection, subscriptions }, id, { query, ...params }) =>
      connection.answering(async () => {
        const end = connection.use();
        // The protocol requires a text, also where a hash stands for the document.
        const asked = { ...params, query: query === "" ? null : query };
        const begun = await begin(requestOf(connection), asked, (leave) => {
          // `graphql-ws` returns what stands here when the client completes it or leaves. The results follow.
          subscriptions[id] = leftBy(leave);
        });
        if (Symbol.asyncIterator in begun)
          return { schema, document: READ, contextValue: converted(begun, (message) => message, end) };
        end();
        return isErrors(begun) ? begun : { schema, document: READ, contextValue: begun };
      }),
    // Safe: `onSubscribe` returned it.
    subscribe: ({ contextValue }) => contextValue as AsyncIterableIterator<ExecutionResult>,
    // Safe: the protocol sends what it is given, and clients know the pieces of a result.
    onNext: (_, _id, _payload, _args, message) => message as FormattedExecutionResult,
    onError: (_, _id, _payload, errors) => errors.map(formatted),
  });

  const serve = (socket: WebSocket, request: IncomingMessage, place: Place): void => {
    const connection = new Connection(socket, request, place, settings);
    const link = connections.add(connection);
    const closed = server.opened(
      {
        protocol: socket.protocol,
        send: (text) => connection.send(text),
        close: (code, reason) => connection.close(code ?? CloseCode.BadRequest, reason ?? ""),
        onMessage: (receive) => {
          socket.on("message", (message) => {
            // Safe: `message` is a Buffer unless another `binaryType` is set.
            receive((message as Buffer).toString()).catch(() => connection.close(CloseCode.BadRequest, ""));
          });
        },
      },
      connection,
    );
    socket.once("close", (code, reason) => {
      connections.remove(link);
      void closed(code, reason.toString());
    });
  };

  return {
    /** Accepts or rejects a connection. A listener for `upgrade` of `node:http`. */
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      const { url = "", headers } = request;
      socket.on("error", () => socket.destroy());
      if (url.split("?", 1)[0] !== "/graphql") return refuse(socket, 404);
      if (!isAllowed(headers.origin, headers.host, origins)) return refuse(socket, 403);
      const place = doors.take("socket", identify(request).caller);
      if (place instanceof UpstreamError) return refuse(socket, statusOf(place.code));
      socket.once("close", () => place.release());
      sockets.handleUpgrade(request, socket, head, (opened) => serve(opened, request, place));
    },
    /** Closes all connections without completing their subscriptions, so that clients subscribe again elsewhere. */
    drain: (): void => {
      for (const connection of connections.members()) connection.drain();
    },
  };
}

/** The request of a connection with the headers that count for its subscriptions: each gets a request id of its own. */
function requestOf({ request, authorization }: Connection): IncomingMessage {
  const { "x-request-id": _id, ...given } = request.headers;
  const headers = { ...given, ...(authorization === undefined ? {} : { authorization }) };
  // Safe: only the headers and the socket of a request are read.
  return { headers, socket: request.socket } as IncomingMessage;
}

/** Stands for results that are not there yet. Calls back when nobody waits for them. */
const leftBy = (leave: () => void) => ({
  return: async () => leave(),
  [Symbol.asyncIterator]: (): never => {
    throw new TypeError("expected results, which are not there yet");
  },
});

/**
 * Messages, each converted. `return` ends them even while the next one is awaited, which a generator cannot. Calls back once
 * when there are no more, or nobody waits for them.
 */
function converted<From>(
  { next: nextOf, return: endOf }: Pick<AsyncIterator<From>, "next" | "return">,
  convert: (message: From) => object,
  onEnd: () => void = () => {},
): AsyncIterableIterator<object> {
  let isOver = false;
  const end = (): void => {
    if (!isOver) onEnd();
    isOver = true;
  };
  const iterator: AsyncIterableIterator<object> = {
    next: async () => {
      const next = await nextOf();
      if (!next.done) return { done: false, value: convert(next.value) };
      end();
      return { done: true, value: undefined };
    },
    return: async () => {
      end();
      await endOf?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

const isErrors = (begun: object): begun is readonly GraphQLError[] => Array.isArray(begun);

/**
 * Whether a page of this origin may connect. Browsers apply no CORS to WebSockets. Programs send no origin. The scheme is
 * not compared: behind a proxy it is not known.
 */
const isAllowed = (origin: string | undefined, host: string | undefined, origins: Origins): boolean =>
  origin === undefined || isAmong(origins, origin) || (URL.canParse(origin) && new URL(origin).host === host);
