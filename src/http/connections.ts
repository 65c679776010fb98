import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { LinkedList } from "../util/linked-list.ts";

const RESPONSES = Symbol("the responses of a connection that are not over");

// Properties, because entries of a `WeakMap` survive collections of the young generation together with their keys.
declare module "node:net" {
  interface Socket {
    [RESPONSES]?: LinkedList<ServerResponse>;
  }
}

export const isClosed = (response: ServerResponse): boolean =>
  response.destroyed || response.writableFinished || response.req.socket.destroyed;

/** Counts a response among the unanswered requests of its connection until it is over, then calls back. */
export function trackResponse(response: ServerResponse, callback: () => void): void {
  const { socket } = response.req;
  const responses = (socket[RESPONSES] ??= trackConnection(socket));
  const link = responses.add(response);
  onceClosed(response, () => {
    responses.remove(link);
    callback();
  });
}

/** Node emits no event on a response that is queued behind another one (pipelining) when their connection closes. */
function trackConnection(socket: Socket): LinkedList<ServerResponse> {
  const responses = new LinkedList<ServerResponse>();
  socket.once("close", () => {
    for (const response of responses.members()) if (!response.socket) response.emit("close");
  });
  return responses;
}

/** Calls back once when a response, which is watched, is sent or left. */
export function onceClosed(response: ServerResponse, callback: () => void): void {
  if (isClosed(response)) callback();
  else response.once("close", callback);
}

/**
 * Closes the connection of a response that is not complete. By HTTP/1.0 a body without a length ends with its connection: only
 * a reset shows that it is not whole. Any other body shows it, and what was written of it still arrives.
 */
export function abortConnection({ req: { httpVersion, socket } }: ServerResponse): void {
  if (httpVersion === "1.0") reset(socket);
  else socket.destroy();
}

/** Closes a connection so that no response on it looks complete. */
export function reset(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // Sockets of other servers may not be TCP, which alone has a reset.
    socket.destroy();
  }
}

/** The watched responses of a connection that are not over, and how many. */
export const responsesOn = (socket: Socket): readonly ServerResponse[] => socket[RESPONSES]?.members() ?? [];
export const unanswered = (socket: Socket): number => socket[RESPONSES]?.size ?? 0;

/**
 * Maximum unanswered requests of one connection. Clients that pipeline at all send a few. Node stops reading from a
 * connection whose responses pile up, and would not notice that it closed.
 */
export const MAX_PIPELINED_REQUESTS = 32;

/** Lists the open connections of a server, those that became WebSockets included. */
export function listConnections(server: Server): LinkedList<Socket> {
  const connections = new LinkedList<Socket>();
  server.on("connection", (socket: Socket) => {
    const link = connections.add(socket);
    socket.once("close", () => connections.remove(link));
  });
  return connections;
}
