import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Rejects a WebSocket with a status. */
export function refuseUpgrade(socket: Duplex, status: number): void {
  // Clients that leave their side open would keep the socket, which nothing else times out or closes on shutdown.
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

export const wantsWebSocket = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket";

/** Headers that offer another protocol. A client that wants its connection closed says so again. */
const OFFER = new Set(["connection", "upgrade", "http2-settings"]);

/**
 * Serves a request as if it had offered no other protocol. Java's `HttpClient` and `curl --http2` offer `h2c` with their
 * first request. A server with a listener for `upgrade` gets them all as upgrades, and can decline in Node 24 only
 * (`shouldUpgradeCallback`): so the connection begins again, with a head that lacks the offer.
 */
export function serveWithoutUpgrade(
  server: Server,
  { method = "", url = "", httpVersion, headers, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!OFFER.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1] ?? ""}`);
  }
  if (/\bclose\b/i.test(headers.connection ?? "")) lines.push("connection: close");
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}
