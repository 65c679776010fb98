import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createHttpServer, SOCKET_LIMITS } from "../../src/http/server.ts";
import { READY_LINE, startMain } from "../support/main-process.ts";
import { openRaw } from "./raw-socket.ts";

const READY = "GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n";

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
  const kept = await openRaw(port);
  await kept.write(READY);
  await kept.statuses(1);
  // Each of these waits for longer than a limit, and later than the kept one.
  for (const half of ["", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 9\r\n\r\n"]) {
    const { write, closed } = await openRaw(port);
    await write(half);
    await closed;
  }
  await kept.write(READY);
  await kept.statuses(2);
  expect(kept.socket.closed).toBe(false);
});

test("a connection that waits for longer than KEEP_ALIVE_TIMEOUT_MS is closed", async () => {
  const main = startMain({ PORT: "0", DEMO: "on", KEEP_ALIVE_TIMEOUT_MS: "1" });
  const [, url = ""] = await main.printed(READY_LINE);
  const { write, statuses, closed } = await openRaw(url);
  await write(READY);
  await statuses(1);
  const isReset = await closed;
  expect(isReset).toBe(false);
});
