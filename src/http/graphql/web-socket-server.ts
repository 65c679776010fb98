import type { IncomingMessage } from "node:http";
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
import type { OperationParams } from "../../engine/documents/persisted.ts";
import type { Clock } from "../../clock.ts";
import { TransientList } from "../../transient.ts";
import type { Doors } from "../doors.ts";
import type { Identify } from "../identity.ts";
import type { Place } from "../places.ts";
import { toJson } from "./encoding.ts";
import type { PieceMessage } from "./web-socket-pieces.ts";
import { Connection } from "./web-socket-connection.ts";

export interface WebSocketSettings {
  readonly schema: GraphQLSchema;
  readonly clock: Clock;
  readonly doors: Doors;
  readonly identify: Identify;
  /** Longest message of a client, in bytes. */
  readonly maxBytes: number;
  /** How long a client may not read, in milliseconds. */
  readonly readTimeoutMs: number;
  /**
   * Begins an operation with the headers of a connection. Resolves with errors when it cannot begin. Tells what to call when
   * the client leaves it before.
   */
  readonly begin: (
    request: IncomingMessage,
    params: OperationParams,
    onBegin: (leave: () => void) => void,
  ) => Promise<AsyncIterableIterator<ExecutionResult | PieceMessage> | readonly GraphQLError[]>;
}

/** Stands for every operation: the engine has read the document when `graphql-ws` asks what it is. */
const READ = parse("subscription { read }");

/** Safe: an error as JSON has a message. */
const formatted = (error: GraphQLError) => toJson(error) as GraphQLFormattedError;

/** Creates the server of GraphQL over WebSocket, by the protocol of `graphql-ws`. */
export function createWebSocketServer({ schema, maxBytes, identify, begin, ...settings }: WebSocketSettings) {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxBytes,
    perMessageDeflate: false,
    // One message a turn of the event loop: a client that sends many at once does not hold up the others.
    allowSynchronousEvents: false,
    handleProtocols: (protocols) => handleProtocols(protocols),
  });
  const connections = new TransientList<Connection>();

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
        if ("next" in begun) return { schema, document: READ, contextValue: untilEnd(begun, end) };
        end();
        return begun;
      }),
    // Safe: `onSubscribe` returned it.
    subscribe: ({ contextValue }) => contextValue as AsyncIterableIterator<ExecutionResult>,
    onNext: (_, _id, _payload, _args, result) => {
      // Safe: the protocol sends what it is given, and clients know the pieces of a result.
      if ("message" in result) return result.message as FormattedExecutionResult;
      const { errors, data } = result;
      return { ...(errors && { errors: errors.map(formatted) }), data: data ?? null };
    },
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
    upgrade: (place: Place, request: IncomingMessage, socket: Duplex, head: Buffer): void =>
      sockets.handleUpgrade(request, socket, head, (opened) => serve(opened, request, place)),
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

/** The results of a subscription. Calls back when there are no more, or nobody waits for them. */
function untilEnd<Result>(
  results: AsyncIterableIterator<Result>,
  end: () => void,
): AsyncIterableIterator<Result> {
  const watched: AsyncIterableIterator<Result> = {
    next: async () => {
      const next = await results.next();
      if (next.done) end();
      return next;
    },
    return: async () => {
      end();
      return (await results.return?.()) ?? { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => watched,
  };
  return watched;
}
