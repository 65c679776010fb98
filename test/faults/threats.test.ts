import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { codesOf } from "../support/errors.ts";
import { startFake, startRecords } from "../support/fake.ts";
import { startFaultServer } from "../support/fault-server.ts";
import { say } from "../support/faults.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { ASK_STATUS, RUNNING_ANSWER, RUNNING_RECORD } from "../support/one-read.ts";
import { JSON_BODY, sendTo } from "../support/raw-requests.ts";

const RECORDS = { "ada/mnist/experiments/42/": RUNNING_RECORD };

/** `{"a":{"a":…}}`, or lists in lists. */
const nested = (depth: number, [open, inner, close]: readonly [string, string, string] = ["[", "", "]"]) =>
  open.repeat(depth) + inner + close.repeat(depth);
const OBJECTS = ['{"a":', "1", "}"] as const;

describe("an answer of the service cannot bring the gateway down", () => {
  test.each([
    ["lists in lists", nested(100_000)],
    ["objects in objects", nested(100_000, OBJECTS)],
    [
      "lists in lists in a record",
      `{"id": 42, "declarations": ${nested(100_000)}, "name": ${nested(100_000)}}`,
    ],
    ["a record with a deep text of YAML", JSON.stringify({ id: 42, content: nested(20_000) })],
  ])("by its depth: %s", async (_, text) => {
    const service = await startFaultServer(() => ({ text, headers: { "content-type": "application/json" } }));
    const { ask } = await startGateway({ upstream: service });
    const query = `{ experiment(id: "ada.mnist.42") { name declarations { name value } config { cmd: version } } gateway { __typename } }`;
    const answer = (await ask(query)) as Answer<{ gateway: object }>;
    expect(codesOf(answer)).not.toContain("INTERNAL_SERVER_ERROR");
    expect(answer.data.gateway).toEqual({ __typename: "GatewayInfo" });
    service.fail(/./, say({ status: 400, text, headers: { "content-type": "application/json" } }));
    expect(codesOf((await ask(ASK_STATUS)) as Answer<unknown>)).toEqual(["BAD_USER_INPUT"]);
    service.heal();
    service.fail(/./, say({ json: RUNNING_RECORD }));
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
  });

  test("by names that mean something to JavaScript", async () => {
    const names = ["__proto__", "constructor", "hasOwnProperty", "toString", "prototype"];
    const values = names.map((name) => `"${name}": 1`).join(", ");
    const text = `{"id": 42, "last_metric": {${values}}, "declarations": {"__proto__": {"polluted": true}}}`;
    const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
    const { ask } = await startGateway({ upstream: service });
    const fields = names.map((name) => `a${name}: lastMetricValue(name: "${name}")`).join(" ");
    const query = `{ experiment(id: "ada.mnist.42") {
      declarations { name value } latestMetrics(names: ["__proto__"]) { name value } ${fields} other: lastMetricValue(name: "valueOf")
    } }`;
    expect(await ask(query)).toEqual({
      data: {
        experiment: {
          declarations: [{ name: "__proto__", value: { polluted: true } }],
          latestMetrics: [{ name: "__proto__", value: 1 }],
          ...Object.fromEntries(names.map((name) => [`a${name}`, 1])),
          other: null,
        },
      },
    });
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

describe("a request cannot bring the gateway down", () => {
  const query = "query ($id: ID!) { experiment(id: $id) { id } }";
  test.each([
    ["lists in lists", nested(100_000)],
    ["a query of brackets", JSON.stringify({ query: nested(100_000, ["{a", "", "}"]) })],
    ["a query of brackets never closed", JSON.stringify({ query: "{a".repeat(100_000) })],
    ["lists as an argument", JSON.stringify({ query: `{ experiment(id: ${nested(50_000)}) { id } }` })],
    ["deep variables", `{"query": "${query}", "variables": {"id": ${nested(100_000)}}}`],
    ["deep extensions", `{"query": "{ __typename }", "extensions": ${nested(40_000, OBJECTS)}}`],
  ])("by the depth of its JSON: %s", async (_, body) => {
    const { url, ask } = await startGateway({ upstream: await startRecords(RECORDS) });
    const { status, text } = await sendTo(`${url}/graphql`, { body, headers: JSON_BODY });
    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/INTERNAL_SERVER_ERROR| {4}at |node_modules/);
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
  });
});

/** Sends bytes as they are, and gives what comes back. */
const raw = (url: string, bytes: string): Promise<string> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    let answer = "";
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on("data", (chunk) => (answer += chunk.toString()));
    socket.on("error", () => {}).on("close", () => resolve(answer));
  });

describe("a caller cannot put headers of its own on the way to the service", () => {
  const body = JSON.stringify({ query: ASK_STATUS });
  const ENDS = ["\r\n", "\n", "\r", "\r\n ", "\u0085", "%0d%0a", "\u0000"];
  const NAMES = ["authorization", "x-request-id", "traceparent"];
  const WORDS: Readonly<Record<string, string>> = {
    authorization: "token t0ken",
    "x-request-id": "story-1",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  };

  test.each(NAMES.flatMap((name) => ENDS.map((end) => [name, JSON.stringify(end), end] as const)))(
    "in %s behind %s",
    async (name, _, end) => {
      const service = await startRecords(RECORDS);
      const { url } = await startGateway({ upstream: service });
      const given = { ...WORDS, [name]: `${WORDS[name]}${end}x-smuggled: canary` };
      const lines = Object.entries(given).map(([key, value]) => `${key}: ${value}`);
      const head = "POST /graphql HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json";
      const sent = [head, ...lines, `content-length: ${body.length}`, "", body].join("\r\n");
      expect(await raw(url, sent)).toMatch(/^HTTP\/1\.1 (?:200|400)/);
      for (const { headers } of service.seen()) {
        expect(Object.keys(headers).filter((key) => !ALLOWED.has(key))).toEqual([]);
        expect(JSON.stringify(headers)).not.toContain("canary");
      }
    },
  );
  const ALLOWED = new Set(
    "accept authorization connection host traceparent user-agent x-request-id".split(" "),
  );

  test.each([
    ["two lengths", "content-length: 5\r\ncontent-length: 60"],
    ["a length and chunks", "content-length: 60\r\ntransfer-encoding: chunked"],
    ["chunks that are none", "transfer-encoding: xchunked"],
  ])("by %s in one request", async (_, lines) => {
    const service = await startRecords(RECORDS);
    const { url } = await startGateway({ upstream: service });
    const head = `POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nauthorization: token t0ken`;
    expect(await raw(url, `${head}\r\n${lines}\r\n\r\n${body}`)).toMatch(/^HTTP\/1\.1 400/);
    expect(service.calls()).toEqual([]);
  });
});
