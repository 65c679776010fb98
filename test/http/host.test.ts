import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { READY_LINE, startMain } from "../support/main-process.ts";

/** The status line of the answer to a head that is written as it is. */
async function statusLine(url: string, head: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(`${head}\r\n\r\n`);
  const [data] = (await once(socket, "data")) as [Buffer];
  return data.toString().split("\r\n", 1)[0] ?? "";
}

/** Sends what fetch would not. */
async function send(url: string, path: string, host: string) {
  const headers = { host, "content-type": "application/json" };
  const sent = request(url, { method: "POST", path, headers });
  sent.end(`{"query":"{ gateway { upstreamApiVersion } }"}`);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

test.each(["a b", "[", "x:99999", "%", "a\\b@[", "http://x"])(
  "a Host that is none, %j, is 400 without a stack",
  async (host) => {
    const { url } = await startGateway({ upstream: await startRecords({}) });
    const { status, body } = await send(url, "/graphql", host);
    expect({ status, body }).toEqual({ status: 400, body: "bad request\n" });
  },
);

test.each(["//[/graphql", "http://[/graphql", "*"])(
  "a target that is none, %j, shows no stack",
  async (path) => {
    const { url } = await startGateway({ upstream: await startRecords({}) });
    const { status, body } = await send(url, path, "localhost");
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body).not.toMatch(/ at |node_modules|Error/);
  },
);

test("another name of this host is served", async () => {
  const { url } = await startGateway({ upstream: await startRecords({}) });
  expect(await send(url, "/graphql", "runs.example.com:8443")).toEqual({
    status: 200,
    body: `{"data":{"gateway":{"upstreamApiVersion":"v1"}}}`,
  });
});

test.each(["http://runs.example.com:8443/graphql", "HTTPS://runs.example.com:8443/graphql"])(
  "the target may be the whole URL %s, whose host counts instead of Host",
  async (target) => {
    const { url } = await startGateway({ upstream: await startRecords({}) });
    expect(await send(url, target, "a b")).toEqual({
      status: 200,
      body: `{"data":{"gateway":{"upstreamApiVersion":"v1"}}}`,
    });
  },
);

test("URLs in answers have the host of the target", async () => {
  const { url } = await startGateway({
    upstream: await startRecords({ "ada/mnist/experiments/42/": { id: 42, last_status: "running" } }),
  });
  const target = `http://runs.example.com/graphql?query=${encodeURIComponent(`{ experiment(id: "ada.mnist.42") { logsUrl } }`)}`;
  const sent = request(url, { path: target, headers: { host: "other", authorization: "token t" } }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(await text(response)).toMatch(/"logsUrl":"http:\/\/runs\.example\.com\/downloads/);
});

test.each([
  ["OPTIONS * HTTP/1.1\r\nHost: a", "HTTP/1.1 400 Bad Request"],
  ["CONNECT a:80 HTTP/1.1\r\nHost: a:80", "HTTP/1.1 400 Bad Request"],
  ["GET a:80 HTTP/1.1\r\nHost: a", "HTTP/1.1 400 Bad Request"],
  ["GET http://user@a/graphql HTTP/1.1\r\nHost: a", "HTTP/1.1 400 Bad Request"],
  ["GET ftp://a/graphql HTTP/1.1\r\nHost: a", "HTTP/1.1 400 Bad Request"],
  ["GET http:///graphql HTTP/1.1\r\nHost: a", "HTTP/1.1 400 Bad Request"],
  ["GET http://a HTTP/1.1\r\nHost: b", "HTTP/1.1 307 Temporary Redirect"],
  ["GET http://a?b HTTP/1.1\r\nHost: b", "HTTP/1.1 307 Temporary Redirect"],
])("%j is answered with %s", async (head, expected) => {
  const service = await startRecords({});
  const main = startMain({ PORT: "0", UPSTREAM_URL: service.url });
  const [, url = ""] = await main.printed(READY_LINE);
  expect(await statusLine(url, head)).toBe(expected);
});

test("the origin of a WebSocket is compared with the host of the target", async () => {
  const { url } = await startGateway({ upstream: await startRecords({}) });
  const head = (origin: string) =>
    [
      "GET http://runs.example.com/graphql HTTP/1.1",
      "Host: other",
      `Origin: https://${origin}`,
      "Connection: upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ].join("\r\n");
  expect(await statusLine(url, head("runs.example.com"))).toContain(" 101 ");
  expect(await statusLine(url, head("other"))).toContain(" 403 ");
});
