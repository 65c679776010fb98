import { expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { JSON_BODY, operationText, sendTo } from "../support/raw-requests.ts";

const LOGIN = `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`;

test("QUERY takes the body of a POST, with the same answer", async () => {
  const { url } = await startDemoGateway();
  const send = async (method: string) => {
    const body = operationText("query ($a: Boolean!) { __typename @include(if: $a) }", { a: true });
    const { status, text, headers } = await sendTo(`${url}/graphql`, { method, headers: JSON_BODY, body });
    return [status, text, headers.get("content-type"), headers.get("cache-control")];
  };
  expect(await send("QUERY")).toEqual(await send("POST"));
  expect((await send("QUERY")).slice(0, 2)).toEqual([200, '{"data":{"__typename":"Query"}}']);
});

test.each(["application/json", "application/graphql-response+json", "multipart/mixed", "text/html"])(
  "QUERY is safe: a mutation is refused and sends nothing (accept: %s)",
  async (accept) => {
    const { url, calls } = await startDemoGateway();
    const headers = { ...JSON_BODY, accept };
    const { status } = await sendTo(`${url}/graphql`, {
      method: "QUERY",
      headers,
      body: operationText(LOGIN),
    });
    expect(status).toBe(accept === "text/html" ? 406 : 405);
    expect(calls()).toEqual([]);
  },
);

test("QUERY wants JSON, as POST does", async () => {
  const { url } = await startDemoGateway();
  const headers = { "content-type": "text/plain" };
  const { status } = await sendTo(`${url}/graphql`, { method: "QUERY", headers, body: "{ __typename }" });
  expect(status).toBe(415);
});

test("QUERY is for GraphQL only", async () => {
  const { url } = await startDemoGateway({ env: { MCP: "read" } });
  const send = async (path: string) =>
    (await sendTo(url + path, { method: "QUERY", headers: JSON_BODY, body: "{}" })).status;
  expect(await send("/mcp")).toBe(405);
});
