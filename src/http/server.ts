import { createServer, type RequestListener, Server, type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { unanswered } from "./connection.ts";
import type { Duplex } from "node:stream";

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

export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Rejects a WebSocket with a status. */
export function refuseUpgrade(socket: Duplex, status: number): void {
  // Clients that leave their side open would keep the socket, which nothing else times out or closes on shutdown.
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

const wantsWebSocket = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket";

/** Headers that offer another protocol. A client that wants its connection closed says so again. */
const OFFER = new Set(["connection", "upgrade", "http2-settings"]);

/**
 * Serves a request as if it had offered no other protocol. Java's `HttpClient` and `curl --http2` offer `h2c` with their
 * first request. A server with a listener for `upgrade` gets them all as upgrades, and can decline in Node 24 only
 * (`shouldUpgradeCallback`): so the connection begins again, with a head that lacks the offer.
 */
function serveWithoutUpgrade(
  server: Server,
  { method = "", url = "", httpVersion, headers, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!OFFER.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1] ?? ""}`);
  }
  if (/\bclose\b/i.test(headers.connection ?? "")) lines.push("connection: close");
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}
