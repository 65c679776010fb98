import { createServer, type RequestListener, Server } from "node:http";
import type { Socket } from "node:net";
import { unanswered } from "./connection.ts";
import { serveWithoutUpgrade, type UpgradeListener, wantsWebSocket } from "./upgrade.ts";

/** Limits of one connection. Times are in milliseconds. */
export const SOCKET_LIMITS = {
  /** Maximum time for the head of a request, and for the whole request. Node responds with 408 after that. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  maxHeaderSize: 16_384,
  // Node's default checks these timeouts only every 30 s.
  connectionsCheckingInterval: 1_000,
  /** Maximum time without any activity on the socket while a response is written. */
  timeout: 30_000,
};

/** Creates an HTTP server that disconnects slow callers. */
export function createHttpServer(listener: RequestListener, limits = SOCKET_LIMITS): Server {
  const server = createServer(limits);
  server.timeout = limits.timeout;
  server.on("timeout", (socket: Socket) => {
    // With nothing left to write it is the caller who waits for the response.
    if (socket.writableLength > 0 || unanswered(socket) === 0) socket.destroy();
  });
  return server.on("request", listener);
}

/**
 * Makes a listener for `upgrade` that calls `listener` for WebSockets. A server's requests that offer another protocol, such
 * as `h2c`, are served as without the offer.
 */
export const forWebSockets = (listener: UpgradeListener) =>
  function (this: unknown, ...[request, socket, head]: Parameters<UpgradeListener>): void {
    // The answers to earlier requests would be lost. No client takes another protocol in between.
    if (unanswered(request.socket) > 0) socket.destroy();
    else if (wantsWebSocket(request)) listener(request, socket, head);
    else if (this instanceof Server) serveWithoutUpgrade(this, request, socket, head);
    else socket.destroy();
  };

/** Calls `listener` for the WebSockets of a server. */
export const onWebSocket = (server: Server, listener: UpgradeListener): Server =>
  server.on("upgrade", forWebSockets(listener));
