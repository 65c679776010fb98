import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { NODE_FLAGS } from "../../src/package-info.ts";
import { clientOf } from "../live/socket-client.ts";
import { openRaw } from "../http/raw-socket.ts";
import { connectAgent } from "../support/agent.ts";
import { BUILT } from "../support/built.ts";
import { startFake } from "../support/fake.ts";
import type { Answer } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { DEMO_TOKEN, READY_LINE, startProgram, startReady } from "../support/main-process.ts";
import { NO_DEADLINES, LONG_TIMEOUT } from "../support/long-timeout.ts";
import { JSON_BODY, operationText, sendTo } from "../support/raw-requests.ts";
import { subscribe } from "../support/subscriber.ts";

/*
 * Tests the built gateway with its demo, through each of its entry points. The gateway is started once per version of Node.js, because
 * starting one for each test would take longer than all tests.
 */
let gateway: GatewayProcess;
let token: string;

beforeAll(async () => {
  gateway = await startGatewayProcess(null, { ...NO_DEADLINES, MCP: "read" });
  token = await vi.waitUntil(() => DEMO_TOKEN.exec(gateway.output())?.[1], LONG_TIMEOUT);
});
afterAll(() => gateway.kill());

const send = (body: string, authorization = `token ${token}`) =>
  sendTo(`${gateway.url}/graphql`, { body, headers: { ...JSON_BODY, authorization } });

async function dataOf(query: string, variables: object = {}): Promise<Record<string, unknown>> {
  const { text } = await send(operationText(query, variables));
  return (JSON.parse(text) as Answer<Record<string, unknown>>).data;
}

const OPERATIONS = new URL("../../schema/operations/", import.meta.url);
const readText = (name: string) => readFileSync(new URL(name, OPERATIONS), "utf8");
const variablesOf = JSON.parse(readText("demo-variables.json")) as Record<string, object>;

test.each(readdirSync(OPERATIONS).filter((name) => name.endsWith(".graphql")))(
  "answers the shipped operation %s",
  async (file) => {
    const params = { query: readText(file), variables: variablesOf[file] ?? {} };
    // An event stream accepts operations of all types.
    const result = await (await subscribe(gateway.url, { ...params, token })).next();
    expect(result?.errors).toBeUndefined();
    expect(Object.values(result?.data ?? {})).not.toContain(null);
    expect(result?.data).toEqual(expect.any(Object));
  },
);

test("a mutation changes the result of the next query", async () => {
  const input = { description: `on ${process.version}` };
  const id = "ada.mnist.jobs.2";
  const update = "($id: ID!, $input: UpdateRunInput!) { updateJob(id: $id, input: $input) { job { id } } }";
  await dataOf(`mutation ${update}`, { id, input });
  expect(await dataOf(`{ job(id: "${id}") { description } }`)).toEqual({ job: input });
});

test("a WebSocket subscription reports a run and ends with it", async () => {
  const client = clientOf(gateway.url, { authorization: `token ${token}` });
  const query = `subscription { runUpdated(id: "${globalId("Experiment:ada/mnist/28")}") { run { status isFinished } } }`;
  const results = client.iterate({ query });
  const value = { data: { runUpdated: { run: { status: "SUCCEEDED", isFinished: true } } } };
  expect(await results.next()).toEqual({ done: false, value });
  expect(await results.next()).toEqual({ done: true, value: undefined });
});

const WHO = "{ viewer { username } }";

test("an agent lists the tools and uses one", async () => {
  const agent = await connectAgent(gateway, { token });
  expect(await agent.names()).toContain("graphql_query");
  const { result } = await agent.use("graphql_query", { query: WHO });
  expect(result).toEqual({ data: { viewer: { username: "ada" } } });
});

test("integers beyond 2^53 are plain values in summaries and exports", async () => {
  const [row, other] = ["9007199254740993", "1"].map(
    (seed, index) =>
      `{"id": ${index + 1}, "declarations": {"a": {"seed": ${seed}}}, "last_metric": {"n": ${seed}}}`,
  );
  const headers = { "content-type": "application/json" };
  const service = await startFake(() => ({ text: `{"count": 2, "results": [${row}, ${other}]}`, headers }));
  const { url, kill } = await startGatewayProcess(service.url, { UPSTREAM_PROFILE: "polyaxon-0.4" });
  const query = `{ project(id: "ada.mnist") { experiments { summary {
    parameters { name values { value } } metrics { name max }
  } } } }`;
  const authorized = { authorization: "token t0ken" };
  const reported = await sendTo(`${url}/graphql`, {
    body: operationText(query, {}),
    headers: { ...JSON_BODY, ...authorized },
  });
  const seed = "rawJSON" in JSON ? "9007199254740993" : `"9007199254740993"`;
  expect(reported.text).toContain(
    `"parameters":[{"name":"a.seed","values":[{"value":${seed}},{"value":1}]}]`,
  );
  expect(reported.text).toContain(`"metrics":[{"name":"n","max":9007199254740992}]`);
  const exported = await fetch(`${url}/export/ada.mnist/runs.csv`, { headers: authorized });
  expect(await exported.text()).toMatch(
    /,parameter\.a\.seed,metric\.n\r\n.*,9007199254740993,9007199254740992\r\n/,
  );
  await kill();
});

test("an offer to upgrade to HTTP/2 is declined with a normal response", async () => {
  const body = operationText("{ __typename }");
  const offer = "Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk";
  const content = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
  const { write, statuses, read } = await openRaw(gateway.url);
  await write(`POST /graphql HTTP/1.1\r\n${offer}\r\n${content}\r\n\r\n${body}`);
  expect(await statuses(1, "}")).toEqual(["200 OK"]);
  expect(read()).toMatch(/\r\n\r\n\{"data":\{"__typename":"Query"\}\}/);
});

test("with Node flags, SIGTERM ends the streams and the process", async () => {
  const { url, printed, kill, ended } = await startReady({}, NODE_FLAGS);
  const [, authorized = ""] = await printed(DEMO_TOKEN);
  const query = `subscription { runUpdated(id: "${globalId("Experiment:ada/mnist/51")}") { run { uniqueName } } }`;
  const stream = await subscribe(new URL(url).origin, { query, token: authorized });
  const run = { uniqueName: "ada.mnist.2.51" };
  expect(await stream.next()).toEqual({ data: { runUpdated: { run } } });
  kill("SIGTERM");
  expect(await ended).toBe(0);
  // The run may have changed within the last second, so events can precede the end.
  let last = await stream.next();
  while (last?.data) last = await stream.next();
  expect(last).toBeNull();
});

test("the command replaces itself with the gateway's flags if Node supports execve", async () => {
  const printArgs = "data:text/javascript,process._rawDebug([process.pid,...process.execArgv].join())";
  const command = [process.execPath, join(BUILT, "dist/src/cli.js")];
  const environment = { PORT: "0", NODE_OPTIONS: `--import ${printArgs}` };
  const { printed, err, kill, ended } = startProgram(command, environment, BUILT);
  await printed(READY_LINE);
  kill("SIGTERM");
  expect(await ended).toBe(0);
  const [first, ...replaced] = err().trim().split("\n");
  expect(replaced).toEqual("execve" in process ? [[first, ...NODE_FLAGS].join()] : []);
});
