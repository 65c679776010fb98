import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ephemeral ports of systems, so that no other test uses a port before its server does. */
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
