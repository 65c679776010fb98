import { createServer, type RequestListener, type Server as HttpServer } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { onTestFinished } from "vitest";
import { forWebSockets, type UpgradeListener } from "../../src/http/server.ts";

/** Makes a server of any protocol listen on a free port until the test ends. */
export async function openServer(server: Server) {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    // For a request that offers another protocol, the same connection is reported again.
    if (sockets.has(socket)) return;
    connections++;
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
  });
  const open = (at: number) => new Promise<void>((ready) => server.listen(at, "127.0.0.1", ready));
  const close = async (): Promise<void> => {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await open(0);
  onTestFinished(close);
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    /** Stops listening, so that new connections are refused. */
    stop: close,
    /** Listens again on the same port. */
    restart: () => open(port),
  };
}

export const openPort = async (server: Server): Promise<number> => (await openServer(server)).port;

/** Starts an HTTP server on a free port until the test ends. */
export function openHttp(listener: RequestListener, upgrade?: UpgradeListener) {
  const server: HttpServer = createServer(listener);
  if (upgrade) server.on("upgrade", forWebSockets(upgrade));
  // The server never closes idle connections, because it could close one just when a request is sent on it.
  server.keepAliveTimeout = 0;
  return openServer(server);
}

/** Starts an HTTP server until the test ends. Resolves with its address. */
export const listen = async (listener: RequestListener, upgrade?: UpgradeListener): Promise<string> =>
  (await openHttp(listener, upgrade)).url;

/** Matches the port of an address as a separate number, because the digits of a hash may contain the same digits. */
export const portIn = (url: string): RegExp => new RegExp(`(?<![\\w-])${new URL(url).port}(?![\\w-])`);

/** The loopback addresses of this machine, in the format of URLs. */
export const ADDRESSES = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .flatMap(({ address, internal, family }) =>
    internal ? [family === "IPv6" ? `[${address}]` : address] : [],
  );
