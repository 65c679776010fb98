import { createClient } from "graphql-ws";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { clientOf } from "../live/socket-client.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { firstCodeOf } from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { askIncrementally } from "../support/incremental.ts";
import { subscribe } from "../support/subscriber.ts";
import { post } from "../support/raw-requests.ts";

const MANY_FILES = Array.from({ length: 4_000 }, (_, index) => [`${index}`, index]);

const named = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, name) => [`m${name}`, 1]));

const times = (count: number, part: string) => Array.from({ length: count }, () => part).join(" ");

async function start(maxBytes = "100000", given: Record<string, string> = {}) {
  const rowOf = (id: number) => ({ id, name: "run", original: "ada.mnist.1000" });
  const rows = Array.from({ length: 100 }, (_, index) => rowOf(index));
  const service = await startFake(({ path }) => {
    if (path.includes("/logs")) return { text: "\n".repeat(5_000) };
    if (path.includes("/outputs/tree")) return { json: { dirs: [], files: MANY_FILES } };
    if (path.includes("/experiments/7/metrics"))
      return { json: { results: [{ id: 1, values: named(400) }] } };
    if (path.endsWith("/experiments/8/")) return { json: { id: 8, name: "run", last_metric: named(4_000) } };
    if (path.includes("/experiments?")) return { json: { count: 100, next: null, results: rows } };
    return { json: { count: 0, next: null, results: [], id: 42, name: "run" } };
  });
  const env = { UPSTREAM_PROFILE: "polyaxon-0.4", MAX_UPSTREAM_BYTES: maxBytes, MCP: "read", ...given };
  return { service, ...(await startGateway({ upstream: service, env })) };
}

describe("MAX_UPSTREAM_BYTES also covers memory that an operation allocates for", () => {
  test.each([
    ["parsed objects", '{ experiment(id: "ada.mnist.42") { outputFiles { folders { name } } } }'],
    ["fields and items", '{ experiment(id: "ada.mnist.42") { logs { lines } } }'],
    ["names that no other object has", '{ experiment(id: "ada.mnist.8") { name } }'],
    ["columns of metrics", '{ experiment(id: "ada.mnist.7") { metricSeries(names: ["none"]) { name } } }'],
    [
      "started reads",
      '{ project(id: "ada.mnist") { experiments(first: 26) { nodes { statuses { totalCount } } } } }',
    ],
  ])("%s", async (_, query) => {
    const { ask } = await start();
    expect(firstCodeOf(await ask(query))).toBe("REQUEST_LIMIT_EXCEEDED");
  });

  test("reads of linked records, before any of these reads is sent", async () => {
    const { ask, service } = await start();
    const children =
      "statuses { totalCount } jobs { totalCount } codeReference { branch } metrics { totalCount }";
    const query = `{ project(id: "ada.mnist") { experiments(first: 20) { nodes { original { name ${children} } } } } }`;
    expect(firstCodeOf(await ask(query))).toBe("REQUEST_LIMIT_EXCEEDED");
    expect(service.calls()).toEqual(["GET ada/mnist/experiments?limit=20"]);
  });

  test.each([
    ["is explained", { EXPLAIN: "on" }],
    ["may be stale", { STALE_MAX_AGE_MS: "60000" }],
  ])("the trace of a result that %s", async (_, env) => {
    const links = Array.from({ length: 30 }, (_each, index) => `a${index}: original { isBookmarked }`);
    const query = `{ project(id: "ada.mnist") { experiments(first: 100) { nodes { ${links.join(" ")} } } } }`;
    const explained = { headers: { "x-rungraph-explain": "1" } };
    expect(firstCodeOf(await (await start("900000")).ask(query, {}, explained))).toBe("ok");
    const { ask } = await start("900000", env);
    expect(firstCodeOf(await ask(query, {}, explained))).toBe("REQUEST_LIMIT_EXCEEDED");
  });

  test("incremental payloads", async () => {
    const { url } = await start();
    const query = `{ project(id: "ada.mnist") { experiments(first: 70) { nodes { id ... @defer { name } } } } }`;
    const payloads = await askIncrementally(url, { query }, { authorization: "token t0ken" });
    expect(JSON.stringify(payloads)).toContain("REQUEST_LIMIT_EXCEEDED");
  });
});

describe("MAX_UPSTREAM_BYTES also covers request input before execution:", () => {
  // Each item takes 64 bytes of memory, but only 3 bytes of the response.
  const many = Array.from({ length: 4_000 }, () => ({}));
  const query = "query ($id: ID!) { experiment(id: $id) { id } }";
  const variables = { id: "ada.mnist.42", many };
  const events = 'subscription { runUpdated(id: "ada.mnist.experiments.42") { run { id } } }';
  const call = { name: "graphql_query", arguments: { query: "{ __typename }", many } };
  const tool = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call };

  test.each([
    ["variables", "graphql", { query, variables }, "application/json"],
    ["a long document", "graphql", { query: `{ entities(ids: [${times(250, "1")}]) { id } }` }, "*/*"],
    ["a long plan", "graphql", { query: `{ entity(id: "a.b") { ${times(20, "id")} } }` }, "*/*"],
    ["extensions", "graphql", { query, variables: { id: "ada.mnist.42" }, extensions: { many } }, "*/*"],
    [
      "the document of a subscription",
      "graphql",
      { query: events, variables: { many } },
      "text/event-stream",
    ],
    ["a message of an agent", "mcp", tool, "application/json, text/event-stream"],
  ])("%s", async (_, path, body, accept) => {
    const { url, service } = await start();
    const response = await post(`${url}/${path}`, body, { accept });
    expect(await response.text()).toContain("REQUEST_LIMIT_EXCEEDED");
    expect(service.calls()).toEqual([]);
  });

  test("variables that an agent sends as a JSON string", async () => {
    const { url, service } = await start();
    const given = { query: "{ viewer { username } }", variables: JSON.stringify({ many }) };
    const message = { ...tool, params: { name: "graphql_query", arguments: given } };
    const response = await post(`${url}/mcp`, message, { accept: "application/json, text/event-stream" });
    expect(await response.text()).toContain("operations need more than 100000 bytes of memory");
    expect(service.calls()).toEqual([]);
  });

  const some = many.slice(0, 1_200);
  test.each([
    ["the document of a subscription", { query: events, variables: { some } }],
    ["its document", { query: events.replace("id }", `id ${times(3, "name")} }`) }],
  ])("%s until the subscription ends", async (_, asked) => {
    const { ask, url } = await start();
    const stream = await subscribe(url, asked);
    const asking = () => ask(query, { id: "ada.mnist.42", some });
    expect(firstCodeOf(await asking())).toBe("REQUEST_LIMIT_EXCEEDED");
    stream.leave();
    await vi.waitUntil(async () => firstCodeOf(await asking()) === "ok", LONG_TIMEOUT);
  });

  test("the plan of a long document that is repeated", async () => {
    const { ask } = await start("460000");
    const long = `{ ${Array.from({ length: 150 }, (_, name) => `f${name}: __typename`).join(" ")} }`;
    const answers = [await ask(long), await ask(long), await ask(long), await ask(long, { many })];
    expect(answers.map(firstCodeOf)).toEqual(["ok", "ok", "ok", "REQUEST_LIMIT_EXCEEDED"]);
  });

  test("variables of a WebSocket operation", async () => {
    const { url, service } = await start();
    const client = clientOf(url, { authorization: "token t0ken" });
    const asked = client.iterate({ query: events, variables: { many } }).next();
    await expect(asked).rejects.toMatchObject([{ extensions: { code: "REQUEST_LIMIT_EXCEEDED" } }]);
    const long = createClient({
      url: url.replace("http:", "ws:") + "/graphql",
      webSocketImpl: WebSocket,
      generateID: () => "i".repeat(1_001),
    });
    onTestFinished(() => void long.dispose());
    const got = long.iterate({ query: events }).next();
    await expect(got).rejects.toMatchObject([{ message: "id: expected at most 1000 characters, got 1001" }]);
    expect(service.calls()).toEqual([]);
  });
});
