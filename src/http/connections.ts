import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Link, LinkedList } from "../util/linked-list.ts";
import { clientAddress } from "./identity.ts";

const RESPONSES = Symbol("the open responses of a connection");
const ENTRY = Symbol("the entry of a connection in the list of its address");

interface AddressEntry {
  readonly address: string;
  readonly peers: LinkedList<Socket>;
  link: Link<Socket>;
}

// Properties of the socket, because a socket in a `WeakMap` would survive collections of the young generation.
declare module "node:net" {
  interface Socket {
    [RESPONSES]?: LinkedList<ServerResponse>;
    [ENTRY]?: AddressEntry;
  }
}

export const isClosed = (response: ServerResponse): boolean =>
  response.destroyed || response.writableFinished || response.req.socket.destroyed;

/** Counts a response as an unanswered request of its connection until the response is closed, then calls back. */
export function trackResponse(response: ServerResponse, callback: () => void): void {
  const { socket } = response.req;
  const responses = (socket[RESPONSES] ??= trackConnection(socket));
  const link = responses.add(response);
  onceClosed(response, () => {
    responses.remove(link);
    callback();
  });
}

/**
 * When a connection closes, emits `close` on the responses that are queued behind another response (pipelining). Node emits no event on
 * them.
 */
function trackConnection(socket: Socket): LinkedList<ServerResponse> {
  const responses = new LinkedList<ServerResponse>();
  socket.once("close", () => {
    for (const response of responses.members()) if (!response.socket) response.emit("close");
  });
  return responses;
}

/** Calls back once, when a tracked response has been sent or its client has disconnected. */
export function onceClosed(response: ServerResponse, callback: () => void): void {
  if (isClosed(response)) callback();
  else response.once("close", callback);
}

/**
 * Closes the connection of an incomplete response. In HTTP/1.0, a body without a length ends with its connection, so only a reset shows
 * that such a body is incomplete. In later versions, clients recognize an incomplete body, and a normal close lets them receive the bytes
 * written before.
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
    // An embedding server may use a socket that is not a TCP socket, and only TCP has a reset.
    socket.destroy();
  }
}

/** The open responses of a connection. */
export const responsesOn = (socket: Socket): readonly ServerResponse[] => socket[RESPONSES]?.members() ?? [];
/** Number of open responses of a connection. */
export const unanswered = (socket: Socket): number => socket[RESPONSES]?.size ?? 0;

/**
 * Maximum unanswered requests of one connection. Clients that use pipelining send a few. Node stops reading from a connection with many
 * unanswered requests, and would not notice that the connection is closed.
 */
export const MAX_PIPELINED_REQUESTS = 32;

/** Returns a list of the open connections of a server, including WebSockets. The list is kept up to date. */
export function listConnections(server: Server): LinkedList<Socket> {
  const connections = new LinkedList<Socket>();
  server.on("connection", (socket: Socket) => {
    const link = connections.add(socket);
    socket.once("close", () => connections.remove(link));
  });
  return connections;
}

/** Whether `limitConnections` counts a connection: it counts all except WebSockets. */
export const isCounted = (socket: Socket): boolean => socket[ENTRY] !== undefined;

/**
 * The first connection of a list that has no unanswered request. If there is none, the first one whose client has not read all written
 * bytes, because anybody can request a large file and leave it unread.
 */
function firstReplaceable({ first }: LinkedList<Socket>): Socket | undefined {
  let unread: Socket | undefined;
  for (let link = first; link; link = link.next) {
    if (unanswered(link.member) === 0) return link.member;
    if (link.member.writableLength > 0) unread ??= link.member;
  }
  return unread;
}

/**
 * Limits the open connections of a server, except WebSockets, which have a limit of their own. A connection beyond the limit replaces an
 * idle connection of the address with the most connections: the one whose last request began first. An address with many connections
 * therefore keeps no other address out, and a proxy may open as many as it needs. If no connection is idle, one whose client does not read
 * is replaced. The new connection may itself be the replaced one.
 */
export function limitConnections(server: Server, max: number): void {
  const addresses = new Map<string, LinkedList<Socket>>();
  let open = 0;

  const remove = (socket: Socket): void => {
    const entry = socket[ENTRY];
    if (!entry) return;
    delete socket[ENTRY];
    open--;
    entry.peers.remove(entry.link);
    if (entry.peers.size === 0) addresses.delete(entry.address);
  };

  const replaceOne = (): void => {
    let most = 0;
    let replaced: Socket | undefined;
    for (const peers of addresses.values()) {
      const found = peers.size > most ? firstReplaceable(peers) : undefined;
      if (!found) continue;
      most = peers.size;
      replaced = found;
    }
    if (!replaced) return;
    remove(replaced);
    replaced.destroy();
  };

  server.on("connection", (socket: Socket) => {
    const address = clientAddress({ headers: {}, socket }, null);
    const peers = addresses.get(address) ?? new LinkedList<Socket>();
    addresses.set(address, peers);
    socket[ENTRY] = { address, peers, link: peers.add(socket) };
    socket.once("close", () => remove(socket));
    if (++open > max) replaceOne();
  });
  server.on("request", ({ socket }: IncomingMessage) => {
    const entry = socket[ENTRY];
    if (!entry) return;
    entry.peers.remove(entry.link);
    entry.link = entry.peers.add(socket);
  });
  // A request that offers a protocol other than WebSocket becomes a new connection (`serveWithoutUpgrade`).
  server.prependListener("upgrade", ({ socket }: IncomingMessage) => remove(socket));
}
