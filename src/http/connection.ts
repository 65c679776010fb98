import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The `onceOver` callbacks of each connection's responses. */
const pending = new WeakMap<Socket, Set<() => void>>();

export const isOver = (response: ServerResponse): boolean =>
  response.destroyed || response.writableFinished || response.req.socket.destroyed;

/**
 * Calls `callback` once when a response is sent or its connection closes. Listens to the connection as well, because
 * Node emits no event on a response that is queued behind another one (pipelining). Returns a function that removes the
 * callback.
 */
export function onceOver(response: ServerResponse, callback: () => void): () => void {
  const { socket } = response.req;
  const callbacks = pending.get(socket) ?? watch(socket);
  const over = () => {
    removeCallback();
    callback();
  };
  const removeCallback = () => {
    callbacks.delete(over);
    response.off("close", over);
  };
  if (isOver(response)) {
    callback();
    return () => {};
  }
  callbacks.add(over);
  response.on("close", over);
  return removeCallback;
}

function watch(socket: Socket): Set<() => void> {
  const callbacks = new Set<() => void>();
  pending.set(socket, callbacks);
  socket.once("close", () => {
    for (const callback of callbacks) callback();
  });
  return callbacks;
}

/** Maximum unanswered requests of one connection. Clients that pipeline at all send a few. */
const MAX_UNANSWERED = 32;
const unanswered = new WeakMap<Socket, number>();

/**
 * Counts a request and tells whether its connection has too many unanswered ones. Node stops reading from a connection
 * whose responses pile up, and would not notice that it closed.
 */
export function hasTooManyRequests(response: ServerResponse): boolean {
  const { socket } = response.req;
  const change = (by: 1 | -1) => unanswered.set(socket, (unanswered.get(socket) ?? 0) + by);
  change(1);
  onceOver(response, () => change(-1));
  return (unanswered.get(socket) ?? 0) > MAX_UNANSWERED;
}
