import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { askAt } from "../support/gateway.ts";
import { createGateway, type Gateway } from "../../src/index.ts";
import { statusOf, WEB_SOCKET } from "../http/raw-socket.ts";
import { startRecords } from "../support/fake.ts";
import { openPort } from "../support/listen.ts";

const log = { debug() {}, info() {}, warn() {}, error() {} };

/** Starts a server with gateways under prefixes, in front of an empty service. */
async function start(
  prefixes: readonly string[],
  handle = (_all: readonly Gateway[], _asked: IncomingMessage, own: ServerResponse) => void own.end("own"),
) {
  const { url } = await startRecords({});
  const gateways = await Promise.all(
    prefixes.map((prefix) => createGateway({ UPSTREAM_URL: url }, { prefix, log })),
  );
  const server = createServer((...given) => handle(gateways, ...given));
  for (const { upgrade, close } of gateways) {
    onTestFinished(close);
    server.on("upgrade", upgrade);
  }
  return { server, port: await openPort(server) };
}

/** The status of the response to a request that offers a WebSocket or another protocol. */
const offer = (port: number, path: string, protocol = "websocket"): Promise<string> =>
  statusOf(port, `GET ${path} HTTP/1.1`, "Host: a", WEB_SOCKET.replace("websocket", protocol));

test("routes a WebSocket by the longest prefix, or rejects it with 404", async () => {
  const { server, port } = await start(["/a", "/a/b", "/c"]);
  for (const path of ["/a/graphql", "/a/b/graphql", "/c/graphql"])
    expect(await offer(port, path)).toBe("101 Switching Protocols");
  for (const path of ["/a/c/graphql", "/graphql", "/other"])
    expect(await offer(port, path)).toBe("404 Not Found");
  server.on("upgrade", ({ url }, socket) => {
    if (url === "/other") socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  });
  expect(await offer(port, "/other")).toBe("403 Forbidden");
});

test("several gateways in one server answer every request that offers h2c", async () => {
  const { port } = await start(["/a", "/c"]);
  for (const path of ["/a/healthz", "/other"]) expect(await offer(port, path, "h2c")).toBe("200 OK");
});

test("reads a request that a middleware has paused", async () => {
  const { port } = await start(["/a"], ([gateway], request, response) => {
    request.pause();
    setImmediate(() => gateway?.handler(request, response));
  });
  const answer = await askAt(`http://127.0.0.1:${port}/a/graphql`, "t0ken", "{ __typename }");
  expect(answer).toEqual({ data: { __typename: "Query" } });
});

test("a gateway closes after DRAIN_TIMEOUT_MS even while requests are pending", async () => {
  const service = createServer((_, response) => void gateway.close().then(() => response.end("{}")));
  const settings = { UPSTREAM_URL: `http://127.0.0.1:${await openPort(service)}`, DRAIN_TIMEOUT_MS: 100 };
  const gateway = await createGateway(settings, { log });
  const port = await openPort(createServer(gateway.handler));
  const answer = await askAt(`http://127.0.0.1:${port}/graphql`, "t0ken", "{ viewer { username } }");
  expect(answer.errors?.[0]?.extensions["code"]).toBe("UNAUTHENTICATED");
});
