import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { onWebSocket, type UpgradeListener } from "../../src/http/server.ts";

/** Listens on a free port until the test ends, and gives the address. */
export async function listen(listener: RequestListener, upgrade?: UpgradeListener): Promise<string> {
  const server: Server = createServer(listener);
  if (upgrade) onWebSocket(server, upgrade);
  // A connection that it closed while a request was on its way would be another story.
  server.keepAliveTimeout = 0;
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The port of an address where it stands as a number: the digits of a hash may contain it. */
export const portIn = (url: string): RegExp => new RegExp(`(?<![\\w-])${new URL(url).port}(?![\\w-])`);
