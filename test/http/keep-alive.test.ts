import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createHttpServer, SOCKET_LIMITS } from "../../src/http/server.ts";
import { READY_LINE, startMain } from "../support/main-process.ts";
import { PATIENT } from "../support/patience.ts";

const READY = "GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n";

/** A connection that the test writes itself. */
async function open(port: number) {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let read = "";
  socket.on("data", (chunk: Buffer) => (read += chunk.toString())).on("error", () => {});
  await once(socket, "connect");
  return {
    socket,
    /** Asks, and waits for that many answers in all. */
    ask: async (count: number) => {
      socket.write(READY);
      await vi.waitUntil(() => read.split("HTTP/1.1 ").length > count, PATIENT);
    },
  };
}

test.each([
  [{}, "timeout=75"],
  [{ KEEP_ALIVE_TIMEOUT_MS: "620000" }, "timeout=620"],
])("with %o a response promises %s", async (environment, promised) => {
  const main = startMain({ PORT: "0", DEMO: "on", ...environment });
  const [, url = ""] = await main.printed(READY_LINE);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const sent = request(new URL("/readyz", url), { agent }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  expect(response.headers["keep-alive"]).toBe(promised);
});

test("a connection that waits for its next request outlives all other limits", async () => {
  const limits = { headersTimeout: 50, requestTimeout: 60, timeout: 50, connectionsCheckingInterval: 10 };
  const server = createHttpServer((_, response) => void response.end("ok"), { ...SOCKET_LIMITS, ...limits });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const kept = await open(port);
  await kept.ask(1);
  // Each of these waits for longer than a limit, and later than the kept one.
  for (const half of ["", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 9\r\n\r\n"]) {
    const { socket } = await open(port);
    socket.write(half);
    await once(socket, "close");
  }
  await kept.ask(2);
  expect(kept.socket.closed).toBe(false);
});

test("a connection that waits for longer than KEEP_ALIVE_TIMEOUT_MS is closed", async () => {
  const main = startMain({ PORT: "0", DEMO: "on", KEEP_ALIVE_TIMEOUT_MS: "1" });
  const [, url = ""] = await main.printed(READY_LINE);
  const { socket, ask } = await open(Number(new URL(url).port));
  await ask(1);
  // Not reset.
  expect(await once(socket, "close")).toEqual([false]);
});
