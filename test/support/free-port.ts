import { once } from "node:events";
import { createServer } from "node:net";

/**
 * The first port of the range, which is below the ephemeral ports of operating systems, so that no other test takes a port before its
 * server listens.
 */
const FIRST_PORT = 15_000;
const PORTS = 17_000;

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return freePort();
  }
  server.close();
  await once(server, "close");
  return port;
}
