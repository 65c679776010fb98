import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";

/** What a caller may cost a connection. Times are in milliseconds. */
export const SOCKET_LIMITS = {
  /** For the head of a request, and for the whole: who dawdles is told 408. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  maxHeaderSize: 16_384,
  // Unless told, Node looks for those that dawdle every 30 s only.
  connectionsCheckingInterval: 1_000,
  /** Without taking a byte of what is answered. */
  timeout: 30_000,
};

/** A server that lets go of callers that dawdle. */
export function createHttpServer(listener: RequestListener, limits = SOCKET_LIMITS): Server {
  const server = createServer(limits);
  server.timeout = limits.timeout;
  server.on("request", (_, response) => {
    // Where nothing waits to be taken, it is the caller who waits.
    response.on("timeout", (socket: Socket) => {
      if (socket.writableLength > 0) socket.destroy();
    });
  });
  return server.on("request", listener);
}
