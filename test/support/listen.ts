import { createServer, type RequestListener, type Server as HttpServer } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { onTestFinished } from "vitest";
import { onWebSocket, type UpgradeListener } from "../../src/http/server.ts";

/** Opens a free port for a server of any protocol until the test ends, and gives the port. */
export async function openPort(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    // A connection that offered another protocol begins again.
    if (sockets.has(socket)) return;
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(async () => {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  // A server that listens on TCP has an address of this form.
  return (server.address() as AddressInfo).port;
}

/** Listens on a free port until the test ends, and gives the address. */
export async function listen(listener: RequestListener, upgrade?: UpgradeListener): Promise<string> {
  const server: HttpServer = createServer(listener);
  if (upgrade) onWebSocket(server, upgrade);
  // A connection that it closed while a request was on its way would be another story.
  server.keepAliveTimeout = 0;
  return `http://127.0.0.1:${await openPort(server)}`;
}

/** The port of an address where it stands as a number: the digits of a hash may contain it. */
export const portIn = (url: string): RegExp => new RegExp(`(?<![\\w-])${new URL(url).port}(?![\\w-])`);
