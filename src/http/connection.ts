import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TransientList } from "../transient.ts";

/** What is called when a response is over. */
type Callbacks = TransientList<() => void>;

const CALLBACKS = Symbol("callbacks of a response");
const RESPONSES = Symbol("the responses of a connection that are not over");
const IS_LISTED = Symbol("whether a connection is in the list of its server");

// Properties, because entries of a `WeakMap` survive collections of the young generation together with their keys.
declare module "node:http" {
  interface ServerResponse {
    [CALLBACKS]?: Callbacks;
  }
}
declare module "node:net" {
  interface Socket {
    [RESPONSES]?: TransientList<Callbacks>;
    [IS_LISTED]?: true;
  }
}

export const isOver = (response: ServerResponse): boolean =>
  response.destroyed || response.writableFinished || response.req.socket.destroyed;

/**
 * Calls `callback` once when a response is sent or its connection closes. Listens to the connection as well, because
 * Node emits no event on a response that is queued behind another one (pipelining). Returns a function that removes the
 * callback.
 */
export function onceOver(response: ServerResponse, callback: () => void): () => void {
  if (isOver(response)) {
    callback();
    return () => {};
  }
  const callbacks = (response[CALLBACKS] ??= watchResponse(response));
  const place = callbacks.add(callback);
  return () => callbacks.remove(place);
}

function watchResponse(response: ServerResponse): Callbacks {
  const { socket } = response.req;
  const callbacks: Callbacks = new TransientList();
  const responses = (socket[RESPONSES] ??= watchConnection(socket));
  const place = responses.add(callbacks);
  response.on("close", () => {
    responses.remove(place);
    callAll(callbacks);
  });
  return callbacks;
}

function watchConnection(socket: Socket): TransientList<Callbacks> {
  const responses = new TransientList<Callbacks>();
  socket.once("close", () => {
    for (let next = responses.takeFirst(); next; next = responses.takeFirst()) callAll(next);
  });
  return responses;
}

function callAll(callbacks: Callbacks): void {
  for (let next = callbacks.takeFirst(); next; next = callbacks.takeFirst()) next();
}

/**
 * Closes the connection of a response that is not complete. By HTTP/1.0 a body without a length ends with its connection: only
 * a reset shows that it is not whole. Any other body shows it, and what was written of it still arrives.
 */
export function breakOff({ req: { httpVersion, socket } }: ServerResponse): void {
  if (httpVersion === "1.0") reset(socket);
  else socket.destroy();
}

/** Closes a connection so that no response on it looks complete. */
export function reset(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // What is no TCP, in a server of one's own, knows no reset.
    socket.destroy();
  }
}

/** How many requests of a connection are unanswered. Counts only those whose response `onceOver` watches. */
export const unanswered = (socket: Socket): number => socket[RESPONSES]?.size ?? 0;

/**
 * Maximum unanswered requests of one connection. Clients that pipeline at all send a few. Node stops reading from a
 * connection whose responses pile up, and would not notice that it closed.
 */
export const MAX_UNANSWERED = 32;

/** Lists the open connections of a server, those that became WebSockets included. */
export function listConnections(server: Server): TransientList<Socket> {
  const connections = new TransientList<Socket>();
  server.on("connection", (socket: Socket) => {
    // A connection that offered another protocol begins again.
    if (socket[IS_LISTED]) return;
    socket[IS_LISTED] = true;
    const place = connections.add(socket);
    socket.once("close", () => connections.remove(place));
  });
  return connections;
}
