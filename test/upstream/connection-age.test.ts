import { createServer } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { openPort } from "../support/listen.ts";

/** Starts a service that counts its connections. */
async function startCounted() {
  let connections = 0;
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ username: "ada" }));
  }).on("connection", () => connections++);
  const port = await openPort(server);
  return { url: `http://127.0.0.1:${port}`, connections: () => connections };
}

test.each(["1", "128"])(
  "with %s parallel requests, a connection is replaced after five minutes",
  async (UPSTREAM_CONNECTIONS) => {
    const service = await startCounted();
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS } });
    const now = vi.spyOn(Date, "now");
    onTestFinished(() => now.mockRestore());
    const begin = Date.now();
    const readAt = async (ms: number) => {
      now.mockReturnValue(begin + ms);
      expect(await ask("{ viewer { username } }")).toEqual({ data: { viewer: { username: "ada" } } });
      return service.connections();
    };
    const counts = [];
    for (const ms of [0, 1_000, 299_000, 301_000, 302_000, 700_000]) counts.push(await readAt(ms));
    expect(counts).toEqual([1, 1, 1, 2, 2, 3]);
  },
);
