import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The responses of each connection that are not over, with their callbacks. */
const connections = new WeakMap<Socket, Map<ServerResponse, Set<() => void>>>();

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
  const callbacks = callbacksOf(response);
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

function callbacksOf(response: ServerResponse): Set<() => void> {
  const { socket } = response.req;
  const responses = connections.get(socket) ?? watch(socket);
  const known = responses.get(response);
  if (known) return known;
  const callbacks = new Set<() => void>();
  responses.set(response, callbacks);
  response.on("close", () => {
    responses.delete(response);
    callAll(callbacks);
  });
  return callbacks;
}

function watch(socket: Socket): Map<ServerResponse, Set<() => void>> {
  const responses = new Map<ServerResponse, Set<() => void>>();
  connections.set(socket, responses);
  socket.once("close", () => {
    for (const callbacks of responses.values()) callAll(callbacks);
    responses.clear();
  });
  return responses;
}

function callAll(callbacks: Set<() => void>): void {
  for (const callback of callbacks) {
    callbacks.delete(callback);
    callback();
  }
}

/** How many requests of a connection are unanswered. Counts only those whose response `onceOver` watches. */
export const unanswered = (socket: Socket): number => connections.get(socket)?.size ?? 0;

/**
 * Maximum unanswered requests of one connection. Clients that pipeline at all send a few. Node stops reading from a
 * connection whose responses pile up, and would not notice that it closed.
 */
export const MAX_UNANSWERED = 32;
