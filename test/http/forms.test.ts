import { METHODS } from "node:http";
import { auditServer } from "graphql-http";
import { expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startBefore, startGateway } from "../support/gateway.ts";
import { JSON_BODY, operationText, type Sending, sendPlainly, sendTo } from "../support/raw-requests.ts";
import { DEFAULTS } from "../support/test-settings.ts";
import ACCEPTED from "./accepted.json" with { type: "json" };
import PARAMETERS from "./parameters.json" with { type: "json" };
import STATUSES from "./statuses.json" with { type: "json" };

/* The forms of a request: methods, paths, media types, parameters. Audits check the requirements of GraphQL over HTTP for all servers. */

test("passes all 61 GraphQL over HTTP audits with default settings", async () => {
  const { url } = await startDemoGateway({ env: DEFAULTS });
  const results = await auditServer({ url: `${url}/graphql`, fetchFn: fetch });
  const notOk = results.flatMap((result) =>
    result.status === "ok" ? [] : [`${result.id} ${result.name}: ${result.status}, ${result.reason}`],
  );
  expect(notOk).toEqual([]);
  expect(results).toHaveLength(61);
});

const LONG = `{ ${"__typename ".repeat(20_000)} }`;
const GET = { method: "GET", headers: { accept: "application/json" } };
const HTML = { ...JSON_BODY, accept: "text/html" };
const LOGIN = `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`;

type Row = [name: string, path: string, sending: Sending, status: number, reported: string];

test.each<Row>([
  ["a mutation by GET", `/graphql?query=${encodeURIComponent(LOGIN)}`, GET, 405, "BAD_REQUEST"],
  [
    "a mutation without an acceptable media type",
    "/graphql",
    { body: operationText(LOGIN), headers: HTML },
    406,
    "BAD_REQUEST",
  ],
  // Node.js 20.18 cannot read a QUERY.
  ...["PUT", "DELETE", "QUERY"].map((method): Row => {
    const isKnown = METHODS.includes(method);
    return [`a ${method}`, "/graphql", { method }, isKnown ? 405 : 400, isKnown ? "GET, POST" : ""];
  }),
  ...["/graphql//", "/graphqlx", "/api/v1/ada/mnist", "/healthz/", "/downloads/x", "/favicon.ico"].map(
    (path): Row => ["another path", path, GET, 404, "not found\n"],
  ),
])("%s is refused: %s", async (_, path, sending, status, reported) => {
  const { url, calls } = await startDemoGateway();
  const answer = await sendTo(url + path, sending);
  expect(answer.status).toBe(status);
  expect(`${answer.text}${answer.headers.get("allow")}`).toContain(reported);
  expect(calls()).toEqual([]);
});

test("probes report that the gateway is alive, and ready until draining", async () => {
  const { url, drain } = await startGateway({ upstream: { url: "http://127.0.0.1:1" } });
  const probes = async () => {
    const reported = ["/healthz", "/readyz"].map((path) => sendTo(url + path, { method: "GET" }));
    return (await Promise.all(reported)).map(({ status, text }) => `${status} ${text}`);
  };
  expect(await probes()).toEqual(["200 alive\n", "200 ready\n"]);
  drain();
  expect(await probes()).toEqual(["200 alive\n", "503 draining\n"]);
});

test.each(ACCEPTED)("answers Accept $accept with $type, by GET and POST", async ({ accept, type }) => {
  const { url } = await startGateway({ upstream: await startFake(() => undefined) });
  const headers = { accept, ...JSON_BODY };
  const answers = [
    await fetch(`${url}/graphql?query={__typename}`, { headers }),
    await fetch(`${url}/graphql`, { method: "POST", headers, body: operationText("{ __typename }") }),
  ];
  for (const answer of answers)
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, `${type}; charset=utf-8`]);
});

// docs/errors.md describes the same rules in words.
test.each([
  ...STATUSES,
  {
    case: "an overlong document",
    body: { query: LONG },
    code: "OPERATION_TOO_LARGE",
    older: 200,
    newer: 400,
  },
])("$case gets the HTTP status defined for the response media type", async ({ body, code, older, newer }) => {
  const { url } = await startGateway({ upstream: await startFake(() => undefined), env: { MAX_DEPTH: "5" } });
  for (const [accept, status] of [
    ["application/json", older],
    ["text/event-stream", older],
    ["application/graphql-response+json", newer],
  ] as const) {
    const headers = { accept, ...JSON_BODY, authorization: "token t" };
    const answer = await sendTo(`${url}/graphql`, { headers, body: JSON.stringify(body) });
    expect([accept, answer.status]).toEqual([accept, status]);
    expect(answer.text).toContain(`"code":"${code}"`);
  }
});

/** Starts a gateway. Returns a function that sends raw bytes to the gateway and returns the response. */
async function start() {
  const { service: upstream, ...gateway } = await startBefore(() => undefined);
  const send = async (target: string, body?: string | Buffer) => {
    const headers = { accept: "application/json", ...JSON_BODY };
    const method = body === undefined ? "GET" : "POST";
    const answer = await sendPlainly(gateway.url + target, { method, headers }, body);
    const { data, errors = [] } = JSON.parse(answer.body.toString()) as Partial<Answer<object>>;
    const reported = errors.map(({ message, extensions: { code } }) => `${code}: ${message}`);
    return `${answer.status} ${data ? JSON.stringify(data) : reported.join()}`;
  };
  return { send, calls: upstream.calls, logged: gateway.logged };
}

test.each(PARAMETERS.gets)("GET ?query={__typename}&%.60s", async (search = "", expected) => {
  const { send, calls, logged } = await start();
  expect(await send(`/graphql?query={__typename}&${search}`)).toBe(expected);
  expect(calls()).toEqual([]);
  expect(logged()).not.toMatch(/canary|unexpected/);
});

test.each<(string | Buffer)[]>([
  ...PARAMETERS.posts,
  [
    Buffer.from(operationText("{ __typename }"), "utf16le"),
    "400 BAD_REQUEST: Expected a JSON object as the body, got invalid JSON",
  ],
  [Buffer.from(operationText("{ __typename #é\n }"), "latin1"), "400 BAD_REQUEST: Expected a body in UTF-8."],
])("POST %.80s", async (body, expected) => {
  const { send, calls, logged } = await start();
  expect(await send("/graphql", body)).toBe(expected);
  expect(calls()).toEqual([]);
  expect(logged()).not.toMatch(/canary|unexpected/);
});
