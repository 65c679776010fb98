import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

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
