import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { PATHS } from "../../src/http/paths.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { JSON_BODY, operationText, sendPlainly } from "../support/raw-requests.ts";

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "a", version: "1" } },
});

/** The status of a GET, for each path. For paths that end with a slash, a path below it is requested. */
const STATUSES: Readonly<Record<string, number>> = {
  [PATHS.root]: 307,
  [PATHS.mcp]: 405,
  [`${PATHS.downloads}x/logs`]: 400,
  [`${PATHS.exports}x/runs.csv`]: 400,
};

test("each path in the list of paths is served", async () => {
  const { url } = await startDemoGateway({ env: { MCP: "read" } });
  const html = (await sendPlainly(`${url}/graphql`, { headers: { accept: "text/html" } })).body.toString();
  const below: Readonly<Record<string, string>> = {
    [PATHS.downloads]: "x/logs",
    [PATHS.exports]: "x/runs.csv",
    [PATHS.pageFiles]: /"graphiql\/([^"]+)"/.exec(html)?.[1] ?? "",
  };
  for (const path of Object.values(PATHS)) {
    const whole = path + (below[path] ?? "");
    const query = path === PATHS.graphql ? "?query={__typename}" : "";
    const { status } = await sendPlainly(url + whole + query, {});
    expect([whole, status]).toEqual([whole, STATUSES[whole] ?? 200]);
  }
});

test("GraphQL, MCP and WebSockets accept paths with a trailing slash", async () => {
  const { url } = await startDemoGateway({ env: { MCP: "read" } });
  const post = (path: string, body: string) =>
    sendPlainly(url + path, { method: "POST", headers: JSON_BODY }, body);
  const answers = [
    await post("/graphql/", operationText("{ __typename }")),
    await sendPlainly(`${url}/graphql/?query={__typename}`, {}),
    await post("/mcp/", INITIALIZE),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(answers.map(({ body }) => body.toString()).join("\n")).toMatch(
    /"__typename":"Query".*\n.*"__typename":"Query".*\n.*"serverInfo"/,
  );
  const socket = new WebSocket(`${url.replace("http", "ws")}/graphql/`, "graphql-transport-ws");
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  socket.close();
});

test("the page redirects from a trailing slash to the path without it", async () => {
  const { url } = await startDemoGateway();
  const { status, headers } = await sendPlainly(`${url}/graphql/?x=1`, { headers: { accept: "text/html" } });
  expect([status, headers["location"]]).toEqual([307, "../graphql?x=1"]);
});
