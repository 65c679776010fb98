import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type GraphQLError, type GraphQLFormattedError, type GraphQLSchema, parse } from "graphql";
import { CloseCode, handleProtocols, makeServer } from "graphql-ws";
import { type WebSocket, WebSocketServer } from "ws";
import type { WrittenResult } from "../../engine/execution.ts";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import type { Clock } from "../../live/clock.ts";
import { toJson } from "./response.ts";

export interface WebSocketSettings {
  readonly schema: GraphQLSchema;
  readonly clock: Clock;
  /** Longest message of a client, in bytes. */
  readonly maxBytes: number;
  /** How long a client may not read, in milliseconds. */
  readonly readTimeoutMs: number;
  /** Begins a subscription with the headers of a connection. Resolves with errors when it cannot begin. */
  readonly begin: (
    request: IncomingMessage,
    params: OperationParams,
  ) => Promise<AsyncIterableIterator<WrittenResult> | readonly GraphQLError[]>;
}

/** What this file knows of a connection. */
interface Connection {
  readonly request: IncomingMessage;
  /** The authorization of `connectionParams`; undefined without one. */
  authorization?: string;
}

/** How often a connection is pinged, in milliseconds. A client that does not answer until the next ping is disconnected. */
const PING_INTERVAL_MS = 10_000;

/** How long a client may take to close its connection, in milliseconds. */
const CLOSING_MS = 2_000;

/** Bytes that may wait for a client that goes on sending. Nothing more is read from it until it has read them. */
const MAX_WAITING_BYTES = 1_048_576;

/** Close code of a server that goes away: clients connect again, elsewhere. */
const GOING_AWAY = 1_001;

/** Stands for every operation: the engine has read the document when `graphql-ws` asks what it is. */
const READ = parse("subscription { read }");

/** Safe: an error as JSON has a message. */
const formatted = (error: GraphQLError) => toJson(error) as GraphQLFormattedError;

/** Creates the server of GraphQL over WebSocket, by the protocol of `graphql-ws`. */
export function createWebSocketServer({ schema, clock, maxBytes, readTimeoutMs, begin }: WebSocketSettings) {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxBytes,
    perMessageDeflate: false,
    handleProtocols: (protocols) => handleProtocols(protocols),
  });

  const server = makeServer<Record<string, unknown>, Connection>({
    onConnect: ({ extra, connectionParams }) => {
      const given = Object.entries(connectionParams ?? {}).find(
        ([name]) => name.toLowerCase() === "authorization",
      )?.[1];
      if (typeof given === "string") extra.authorization = given;
    },
    onSubscribe: async ({ extra: { request, authorization } }, _, { query, ...params }) => {
      // A connection has many subscriptions: each gets a request id of its own.
      const { "x-request-id": _id, ...given } = request.headers;
      const headers = { ...given, ...(authorization === undefined ? {} : { authorization }) };
      const begun = await begin(
        // Safe: only the headers and the socket of a request are read.
        { headers, socket: request.socket } as IncomingMessage,
        // The protocol requires a text, also where a hash stands for the document.
        { ...params, query: query === "" ? null : query },
      );
      return "next" in begun ? { schema, document: READ, contextValue: begun } : begun;
    },
    // Safe: `onSubscribe` returned it.
    subscribe: ({ contextValue }) => contextValue as AsyncIterableIterator<WrittenResult>,
    onNext: (_, _id, _payload, _args, { errors, data }) => ({
      ...(errors && { errors: errors.map(formatted) }),
      data: data ?? null,
    }),
    onError: (_, _id, _payload, errors) => errors.map(formatted),
  });

  const serve = (socket: WebSocket, request: IncomingMessage): void => {
    let isAlive = true;
    const ping = (): void => {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      socket.ping();
      cancelPing = clock.after(PING_INTERVAL_MS, ping);
    };
    let cancelPing = clock.after(PING_INTERVAL_MS, ping);
    socket.on("pong", () => {
      isAlive = true;
    });
    // Each ping and message has an answer, which waits in memory for a client that does not read.
    const pauseUnread = (): void => {
      if (socket.bufferedAmount > MAX_WAITING_BYTES) socket.pause();
    };
    socket.on("ping", pauseUnread).on("message", pauseUnread);
    request.socket.on("drain", () => socket.resume());
    // A broken connection; `close` follows.
    socket.on("error", () => {});

    /** Resolves when the message is handed to the system. A client that does not read is disconnected. */
    const send = (text: string): Promise<void> =>
      new Promise((resolve) => {
        if (socket.readyState !== socket.OPEN) return resolve();
        const cancel = clock.after(readTimeoutMs, () => socket.terminate());
        socket.send(text, () => {
          cancel();
          resolve();
        });
      });

    const closed = server.opened(
      {
        protocol: socket.protocol,
        send,
        close: (code, reason) => socket.close(code, reason),
        onMessage: (receive) => {
          socket.on("message", (message) => {
            // Safe: `message` is a Buffer unless another `binaryType` is set.
            receive((message as Buffer).toString()).catch(() => socket.close(CloseCode.BadRequest));
          });
        },
      },
      { request },
    );
    socket.once("close", (code, reason) => {
      cancelPing();
      void closed(code, reason.toString());
    });
  };

  return {
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer): void =>
      sockets.handleUpgrade(request, socket, head, serve),
    /** Closes all connections without completing their subscriptions, so that clients subscribe again elsewhere. */
    drain: (): void => {
      for (const socket of sockets.clients) {
        socket.close(GOING_AWAY, "Going away");
        setTimeout(() => socket.terminate(), CLOSING_MS).unref();
      }
    },
  };
}
