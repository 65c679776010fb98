import { expect, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { startReady } from "../support/main-process.ts";
import { JSON_BODY, operationText, sendPlainly } from "../support/raw-requests.ts";
import { statusOf, WEB_SOCKET } from "./raw-socket.ts";
import TARGETS from "./targets.json" with { type: "json" };

const BODY = operationText('{ experiment(id: "ada.mnist.42") { logsUrl } }');

async function send(url: string, path: string, host: string) {
  const headers = { ...JSON_BODY, host, authorization: "token t" };
  const { status, body } = await sendPlainly(url, { method: "POST", path, headers }, BODY);
  return { status, body: body.toString() };
}

test.each([
  ...["a b", "[", "x:99999", "%", "a\\b@[", "http://x"].map((host) => ["/graphql", host] as const),
  ...["//[/graphql", "http://[/graphql", "*"].map((target) => [target, "localhost"] as const),
])("refuses target %s with Host %j, without leaking a stack trace", async (target, host) => {
  const { url } = await startGateway({ upstream: await startRecords({}) });
  const { status, body } = await send(url, target, host);
  expect([400, 404]).toContain(status);
  expect(body).toMatch(/^(?:bad request|not found)\n$/);
});

test.each([
  ["/graphql", "runs.example.com:8443"],
  // If the target is an absolute URL, its host replaces the header `Host`.
  ["http://runs.example.com:8443/graphql", "a b"],
  ["HTTP://runs.example.com:8443/graphql", "other"],
])("serves target %s with Host %s; response URLs use the request's host", async (target, host) => {
  const { url } = await startBefore({ "ada/mnist/experiments/42/": { id: 42 } });
  const { status, body } = await send(url, target, host);
  expect(status).toBe(200);
  expect(body).toMatch(/"logsUrl":"http:\/\/runs\.example\.com:8443\/downloads/);
});

test("the process answers HTTP request targets that GraphQL does not use", async () => {
  const { url } = await startReady({ UPSTREAM_URL: (await startRecords({})).url });
  for (const [head, status] of Object.entries(TARGETS))
    expect(`${head}: ${await statusOf(url, `${head} HTTP/1.1`, "Host: a")}`).toContain(`${head}: ${status} `);
});

test("compares a WebSocket's origin with the host of the request target", async () => {
  const { url } = await startGateway({ upstream: await startRecords({}) });
  const head = "GET http://runs.example.com/graphql HTTP/1.1\r\nHost: other\r\nOrigin: https:/";
  expect(await statusOf(url, `${head}/runs.example.com`, WEB_SOCKET)).toMatch(/^101 /);
  expect(await statusOf(url, `${head}/other`, WEB_SOCKET)).toMatch(/^403 /);
});
