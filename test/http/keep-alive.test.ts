import { expect, test } from "vitest";
import { createHttpServer, SOCKET_LIMITS } from "../../src/http/server.ts";
import { openPort } from "../support/listen.ts";
import { startReady } from "../support/main-process.ts";
import { openRaw } from "./raw-socket.ts";

const READY = "GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n";

/** Starts the gateway as a process, and opens a connection on which the gateway has answered one request. */
async function open(environment: Record<string, string>) {
  const raw = await openRaw((await startReady({ DEMO: "on", ...environment })).url);
  await raw.write(READY);
  await raw.statuses(1, "\n");
  return raw;
}

test.each([
  [{}, "timeout=75"],
  [{ KEEP_ALIVE_TIMEOUT_MS: "620000" }, "timeout=620"],
])("with %o, responses send Keep-Alive: %s", async (environment: Record<string, string>, promised) => {
  const { read } = await open(environment);
  expect(read()).toContain(`Keep-Alive: ${promised}\r\n`);
});

test("a connection waiting for its next request outlives all other socket timeouts", async () => {
  const limits = { headersTimeout: 50, requestTimeout: 60, timeout: 50, connectionsCheckingInterval: 10 };
  const server = createHttpServer((_, response) => void response.end("ok"), { ...SOCKET_LIMITS, ...limits });
  const port = await openPort(server);
  const kept = await openRaw(port);
  await kept.write(READY);
  await kept.statuses(1);
  // Each of these waits longer than a limit, and later than the reused connection.
  for (const half of ["", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 9\r\n\r\n"]) {
    const { write, closed } = await openRaw(port);
    await write(half);
    await closed;
  }
  await kept.write(READY);
  await kept.statuses(2);
  expect(kept.socket.closed).toBe(false);
});

test("closes a connection idle for longer than KEEP_ALIVE_TIMEOUT_MS", async () => {
  const { closed } = await open({ KEEP_ALIVE_TIMEOUT_MS: "1" });

  expect(await closed).toBe(false);
});
