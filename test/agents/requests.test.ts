import { describe, expect, test } from "vitest";
import { connectAgent, MCP_HEADERS, rpc } from "../support/agent.ts";
import { startDemoGateway, startDemoService } from "../support/demo-gateway.ts";
import { startGateway } from "../support/gateway.ts";
import { JSON_BODY, sendPlainly, sendTo } from "../support/raw-requests.ts";
import MESSAGES from "./messages.json" with { type: "json" };

const LIST = rpc("tools/list");

/** A value that is nested deeper than a recursive function can follow. */
const DEEP = `${"[".repeat(30_000)}${"]".repeat(30_000)}`;

async function start(env: Record<string, string> = {}) {
  const gateway = await startDemoGateway({ env: { MCP: "read", ...env } });
  return {
    ...gateway,
    post: async (body: string, headers: Record<string, string> = {}) => {
      const sent = await sendTo(`${gateway.url}/mcp`, { body, headers: { ...MCP_HEADERS, ...headers } });
      return { ...sent, answer: sent.text === "" ? null : (JSON.parse(sent.text) as unknown) };
    },
  };
}

const errorOf = (code: number, message: string, data: object) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code, message, data: { ...data, requestId: expect.any(String) } },
});

describe("a message", () => {
  test("may have null in place of the arguments of a tool", async () => {
    const { post } = await start();
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "graphql_schema", arguments: null },
    };
    const { answer } = await post(JSON.stringify(call));
    expect(answer).toMatchObject({ result: { content: [{ text: expect.stringContaining("type Query") }] } });
  });

  test("has one uncacheable JSON response with a request id", async () => {
    const { post } = await start();
    const { status, headers, answer } = await post(LIST, { "x-request-id": "agent-7" });
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(headers.get("x-request-id")).toBe("agent-7");
    expect(headers.get("cache-control")).toBe("private, no-store");
    expect(headers.has("mcp-session-id")).toBe(false);
    expect(answer).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
  });

  test("is answered in JSON with any Accept header, or without one", async () => {
    const { url, post } = await start();
    const list = (await post(LIST)).answer;
    for (const accept of ["*/*", "application/json", "application/*;q=0.8, text/plain"])
      expect(await post(LIST, { accept })).toMatchObject({ status: 200, answer: list });
    const { body } = await sendPlainly(`${url}/mcp`, { method: "POST", headers: JSON_BODY }, LIST);
    expect(JSON.parse(body.toString())).toEqual(list);
  });

  test("that lists tools gets one result per protocol revision, whatever its id", async () => {
    const { post } = await start();
    const first = await post(LIST);
    for (const id of [2, "a", `"`])
      expect((await post(LIST.replace(`"id":1`, `"id":${JSON.stringify(id)}`))).answer).toEqual({
        ...(first.answer as object),
        id,
      });
    const { answer } = await post(LIST, { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" });
    expect(answer).not.toMatchObject({ result: expect.anything() });
    expect((await post(LIST)).answer).toEqual(first.answer);
  });

  test("with an overlong document is not read to its end", async () => {
    const { post, calls } = await start();
    const query = `{ ${"a ".repeat(4_000)} login }`;
    const { answer } = await post(rpc("tools/call", { name: "graphql_query", arguments: { query } }));
    expect(answer).toMatchObject({
      result: { structuredContent: { errors: [{ extensions: { code: "OPERATION_TOO_LARGE" } }] } },
    });
    expect(calls()).toEqual([]);
  });

  test("that is a notification gets status 202 and no result", async () => {
    const { post } = await start();
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect(await post(body)).toMatchObject({ status: 202, answer: null });
  });

  test.each([
    ...MESSAGES.none,
    {
      body: `[${LIST},${LIST}]`,
      message: "Expected a JSON object as the body, got an array: batches are not supported.",
    },
  ])("that is invalid gets status 400 (case %#)", async ({ body, message }) => {
    const { post } = await start();
    const { status, answer } = await post(body);
    expect({ status, answer }).toEqual({
      status: 400,
      answer: errorOf(-32_600, message, { code: "BAD_REQUEST" }),
    });
  });

  test.each(MESSAGES.wrong)(
    "with $case returns a JSON-RPC error and runs nothing",
    async ({ method, params, code }) => {
      const { post, calls, logged } = await start();
      expect((await post(rpc(method, params))).answer).toMatchObject({ id: 1, error: { code } });
      expect(calls()).toEqual([]);
      expect(logged()).not.toContain("unexpected");
    },
  );

  test("with deep nesting is answered", async () => {
    const { post, logged } = await start();
    const message = rpc("tools/call", { name: "StartPage", arguments: { a: "deep" } });
    expect([200, 400]).toContain((await post(message.replace('"deep"', DEEP))).status);
    expect(logged()).not.toContain("unexpected");
  });

  test("that would keep a stream open is answered immediately", async () => {
    const gateway = await start();
    const { client } = await connectAgent(gateway);
    const listening = client.request({ method: "subscriptions/listen", params: { notifications: {} } });
    await expect(listening).rejects.toThrow(/./);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain("rungraph_operations_running 0\n");
  });
});

describe("before reading a message, the gateway", () => {
  const tooLong = (bytes: number) =>
    errorOf(-32_000, `Expected a body of at most ${bytes} bytes.`, { code: "OPERATION_TOO_LARGE" });
  const wrongType = errorOf(-32_600, "Expected a body of type application/json.", { code: "BAD_REQUEST" });

  test.each([
    ["longer than the setting", "100", "application/json", 100, 413, tooLong(100)],
    ["longer than any message", "256000", "application/json", 65_536, 413, tooLong(65_536)],
    ["of another type", "256000", "text/plain", 0, 415, wrongType],
  ])("rejects a body %s", async (_, MAX_BODY_BYTES, type, length, status, answer) => {
    const { post } = await start({ MAX_BODY_BYTES });
    const body = rpc("tools/list", { padding: "x".repeat(length) });
    expect(await post(body, { "content-type": type })).toMatchObject({ status, answer });
  });

  test.each(["GET", "DELETE", "PUT", "OPTIONS"])(
    "rejects %s, because there are no sessions",
    async (method) => {
      const { url } = await startGateway({ upstream: await startDemoService(), env: { MCP: "read" } });
      const { status, headers, text } = await sendTo(`${url}/mcp`, { method, headers: MCP_HEADERS });
      expect([status, headers.get("allow"), text]).toEqual([405, "POST", ""]);
    },
  );

  test("rejects unsupported media types and protocol revisions", async () => {
    const { post } = await start();
    expect(await post(LIST, { accept: "text/html" })).toMatchObject({ status: 406 });
    expect(await post(LIST, { "mcp-protocol-version": "1999-01-01" })).toMatchObject({ status: 400 });
  });

  test("rejects every request when MCP is off", async () => {
    const { url, post } = await start({ MCP: "off" });
    expect((await sendTo(`${url}/mcp`, { method: "GET" })).text).toBe("not found\n");
    await expect(post(LIST)).rejects.toThrow("not found");
  });
});

describe("pages", () => {
  const APP = "https://app.example";

  test("from other origins are refused, even if Host and Origin agree", async () => {
    const { url } = await startGateway({ upstream: await startDemoService(), env: { MCP: "read" } });
    // Requests are not sent by `fetch`, which would replace the header `Host` with the host of the address.
    const send = async (origin: string, host: string) => {
      const headers = { ...MCP_HEADERS, origin, host };
      const { status, body } = await sendPlainly(`${url}/mcp`, { method: "POST", headers }, LIST);
      return { status, text: body.toString() };
    };
    const { host, port } = new URL(url);
    expect((await send(url, host)).status).toBe(200);
    expect((await send(`http://localhost:${port}`, `localhost:${port}`)).status).toBe(200);
    for (const [origin, to] of [
      [APP, host],
      ["null", host],
      ["http://localhost", host],
      [`http://localhost:${port}`, host],
      ["http://rebound.example", "rebound.example"],
    ] as const) {
      const { status, text } = await send(origin, to);
      expect({ status, answer: JSON.parse(text) as unknown }).toEqual({
        status: 403,
        answer: errorOf(-32_600, "Expected no Origin or one of CORS_ORIGINS, got another.", {
          code: "BAD_REQUEST",
        }),
      });
    }
  });

  test("from an allowed origin may send the protocol's headers", async () => {
    const { url, post } = await start({ CORS_ORIGINS: APP });
    const { status, headers } = await post(LIST, { origin: APP });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, APP]);
    expect((await post(LIST, { origin: `${APP}:8443` })).status).toBe(403);
    const asked = "content-type,mcp-protocol-version,mcp-method,mcp-name";
    const preflight = await sendTo(`${url}/mcp`, {
      method: "OPTIONS",
      headers: {
        origin: APP,
        "access-control-request-method": "POST",
        "access-control-request-headers": asked,
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-headers")).toBe(asked);
  });
});
