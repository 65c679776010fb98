import { once } from "node:events";
import { createServer } from "node:net";

/** Below those that systems give to whoever asks for any port: no other test takes it before its server does. */
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
