import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createGateway, type Gateway } from "../../src/index.ts";
import { startRecords } from "../support/fake.ts";
import { openPort } from "../support/listen.ts";

const log = { debug() {}, info() {}, warn() {}, error() {} };

/** Gateways below prefixes, in front of an empty service. */
async function createGateways(...paths: readonly string[]): Promise<readonly Gateway[]> {
  const { url } = await startRecords({});
  const create = async (prefix: string) => {
    const gateway = await createGateway({ UPSTREAM_URL: url }, { prefix, log });
    onTestFinished(gateway.close);
    return gateway;
  };
  return Promise.all(paths.map(create));
}

async function listen(handle: RequestListener, gateways: readonly Gateway[] = []) {
  const server = createServer(handle);
  for (const { upgrade } of gateways) server.on("upgrade", upgrade);
  return { server, port: await openPort(server) };
}

/** The first line of the answer to a request that offers another protocol. */
async function offer(port: number, path: string, protocol: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port });
  onTestFinished(() => void socket.destroy());
  const key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13";
  const words = `connection: upgrade\r\nupgrade: ${protocol}\r\nsec-websocket-protocol: graphql-transport-ws\r\n${key}`;
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n${words}\r\n\r\n`);
  const [data] = (await once(socket, "data")) as [Buffer];
  return data.toString().split("\r\n", 1)[0] ?? "";
}

const answerOwn = (_: IncomingMessage, response: ServerResponse) => void response.end("own");

test("of several gateways in a server the one with the longest prefix takes a WebSocket; others are refused, or left to a listener", async () => {
  const gateways = await createGateways("/a", "/a/b", "/c");
  const { server, port } = await listen(answerOwn, gateways);
  for (const path of ["/a/graphql", "/a/b/graphql", "/c/graphql"])
    expect(await offer(port, path, "websocket")).toBe("HTTP/1.1 101 Switching Protocols");
  for (const path of ["/a/c/graphql", "/graphql", "/other"])
    expect(await offer(port, path, "websocket")).toBe("HTTP/1.1 404 Not Found");
  server.on("upgrade", ({ url }, socket) => {
    if (url === "/other") socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  });
  expect(await offer(port, "/other", "websocket")).toBe("HTTP/1.1 403 Forbidden");
});

test("several gateways in a server leave no request without an answer that offers h2c", async () => {
  const gateways = await createGateways("/a", "/c");
  const { port } = await listen(answerOwn, gateways);
  for (const path of ["/a/healthz", "/other"]) expect(await offer(port, path, "h2c")).toBe("HTTP/1.1 200 OK");
});

test("a request that a middleware has paused is read", async () => {
  const [gateway] = await createGateways("/a");
  const { port } = await listen((request, response) => {
    request.pause();
    setImmediate(() => gateway?.handler(request, response));
  });
  const response = await fetch(`http://127.0.0.1:${port}/a/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "{ __typename }" }),
  });
  expect(await response.json()).toEqual({ data: { __typename: "Query" } });
});
