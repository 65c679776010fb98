import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Callbacks of the responses of each connection. */
const pending = new WeakMap<Socket, Set<() => void>>();

export const isOver = (response: ServerResponse): boolean =>
  response.destroyed || response.writableFinished || response.req.socket.destroyed;

/**
 * Calls back once when a response was sent or its connection ended. By the connection as well as by the response: Node
 * tells a response nothing that waits behind another one of its connection (pipelining). The function that is given
 * takes the callback back.
 */
export function onceOver(response: ServerResponse, callback: () => void): () => void {
  const { socket } = response.req;
  const callbacks = pending.get(socket) ?? watch(socket);
  const over = () => {
    forget();
    callback();
  };
  const forget = () => {
    callbacks.delete(over);
    response.off("close", over);
  };
  if (isOver(response)) {
    callback();
    return () => {};
  }
  callbacks.add(over);
  response.on("close", over);
  return forget;
}

function watch(socket: Socket): Set<() => void> {
  const callbacks = new Set<() => void>();
  pending.set(socket, callbacks);
  socket.once("close", () => {
    for (const callback of callbacks) callback();
  });
  return callbacks;
}

/** Most requests of one connection that may wait for their answers: those who pipeline at all send a few. */
const MAX_UNANSWERED = 32;
const unanswered = new WeakMap<Socket, number>();

/**
 * Counts a request, and tells whether its connection has too many without an answer. Node stops reading from a
 * connection whose answers pile up, and so would not see its end.
 */
export function hasTooManyRequests(response: ServerResponse): boolean {
  const { socket } = response.req;
  const change = (by: 1 | -1) => unanswered.set(socket, (unanswered.get(socket) ?? 0) + by);
  change(1);
  onceOver(response, () => change(-1));
  return (unanswered.get(socket) ?? 0) > MAX_UNANSWERED;
}
