import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  Server,
  ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { shortIteration } from "../util/event-loop.ts";
import { reset, responsesOn, unanswered } from "./connections.ts";
import { hasTooManyHeaders, MAX_HEADERS, normalizeTarget } from "./request-target.ts";

/** Limits of one connection. Times are in milliseconds. */
export const SOCKET_LIMITS = {
  /**
   * Maximum time until the head of a request has arrived. `requestTimeout`: until the whole request has arrived. Node then responds with
   * 408.
   */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // By default, Node would check these timeouts only every 30 s. They do not run while a connection waits for its next request.
  connectionsCheckingInterval: 1_000,
  /** Maximum time without any activity on the socket while a response is written. */
  timeout: 30_000,
  /** Time for which a connection waits for its next request. Node sends the time in `Keep-Alive`, and itself waits a second longer. */
  keepAliveTimeout: 75_000,
};

/** The statuses with which Node answers requests that it cannot read; all others get 400. */
const STATUS_OF_ERROR: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** How many expired connections are closed in one tick. Thousands may expire at the same time, and closing one takes up to 0.1 ms. */
const CLOSED_PER_TICK = 20;

/** Returns a function that runs tasks in later ticks, a few in each. */
function spreadOverTicks(): (task: () => void) => void {
  const tasks: (() => void)[] = [];
  const runSome = () => {
    const some = tasks.splice(0, CLOSED_PER_TICK);
    if (tasks.length > 0) setImmediate(runSome);
    for (const task of some) task();
  };
  return (task) => {
    if (tasks.push(task) === 1) setImmediate(runSome);
  };
}

/** Answers a request that Node could not read, unless another response is being written, and closes the connection, as Node would do. */
function refuseUnreadable(socket: Socket, code = ""): void {
  const isAnswering = socket.writableLength > 0 || responsesOn(socket)[0]?.headersSent === true;
  if (isAnswering || !socket.writable) socket.destroy();
  else refuse(socket, STATUS_OF_ERROR[code] ?? 400);
}

/** Creates an HTTP server that disconnects slow callers. */
export function createHttpServer(listener: RequestListener, limits = SOCKET_LIMITS): Server {
  const server = createServer(limits);
  const later = spreadOverTicks();
  server.maxHeadersCount = MAX_HEADERS;
  server.timeout = limits.timeout;
  server.on("timeout", (socket: Socket) => {
    // If nothing is left to write, the caller is not slow: it waits for the response.
    if (socket.writableLength > 0) reset(socket);
    else if (unanswered(socket) === 0) later(() => unanswered(socket) > 0 || socket.destroy());
  });
  server.on("clientError", ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    if (code !== "ERR_HTTP_REQUEST_TIMEOUT") return refuseUnreadable(socket, code);
    // The rest of the request must not be served in the meantime.
    socket.pause();
    later(() => refuseUnreadable(socket, code));
  });
  server.on("connect", (_, socket) => refuse(socket, 400));
  return server.on("request", listener);
}

/**
 * Creates a listener for `upgrade` that calls `listener` for WebSockets. Requests that offer another protocol, such as `h2c`, are served as
 * if they had not offered it.
 */
export const forWebSockets = (listener: UpgradeListener) =>
  function (this: unknown, ...[request, socket, head]: Parameters<UpgradeListener>): void {
    // An upgrade would lose the responses to earlier requests. No client upgrades while it waits for responses.
    if (unanswered(request.socket) > 0) socket.destroy();
    else if (hasTooManyHeaders(request)) refuse(request.socket, 431);
    else if (request.headers.upgrade?.toLowerCase() === "websocket") {
      normalizeTarget(request);
      listener(request, socket, head);
    } else if (!(this instanceof Server)) socket.destroy();
    else if (hasReadBody(request, socket)) serveLast(this, request);
    else serveWithoutUpgrade(this, request, socket, head);
  };

export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Rejects a connection without a response object, such as a WebSocket or an incomplete request, with a status. */
export function refuse(socket: Duplex, status: number): void {
  socket.on("error", () => socket.destroy());
  // Destroys the socket even if the client keeps its side open. Nothing else would close it, not even the shutdown.
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

/** Headers that offer another protocol. */
const OFFER = new Set(["connection", "upgrade", "http2-settings"]);

/**
 * Serves a request as if it had offered no other protocol. Java's `HttpClient` and `curl --http2` offer `h2c` with their first request. A
 * server that has a listener for `upgrade` receives every offer as an upgrade. Therefore the head is put back into the socket without the
 * offer, and the socket is passed to the server as a new connection.
 */
function serveWithoutUpgrade(
  server: Server,
  { method = "", url = "", httpVersion, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`, "connection: close"];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!OFFER.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1] ?? ""}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

/** Whether Node reads the body of an upgrade request itself. Node 26 does, and passes another stream in place of the socket. */
const hasReadBody = (request: IncomingMessage, socket: Duplex): boolean =>
  socket !== request.socket || request.readableLength > 0;

/** Serves an upgrade request whose body Node reads. The connection serves no further request, and is closed after the response. */
function serveLast(server: Server, request: IncomingMessage): void {
  const { socket } = request;
  socket.on("error", () => socket.destroy());
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on("finish", () => socket.destroySoon());
  server.emit("request", request, response);
}

/** Time for which a connection must be idle before it is closed on shutdown, in milliseconds. A request may be in transit until then. */
export const QUIET_MS = 1_000;

/**
 * Calls back after `ms` milliseconds, directly after the event loop has read the sockets. At that moment, no idle connection has an unread
 * request in the buffers of the operating system. Does not keep the process running.
 */
export const afterPoll = (ms: number, callback: () => void): void =>
  void setTimeout(async () => {
    await shortIteration(QUIET_MS);
    callback();
  }, ms).unref();
