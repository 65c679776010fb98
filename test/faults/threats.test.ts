import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { codesOf } from "../support/errors.ts";
import { startFake, startRecords } from "../support/fake.ts";
import { startFaultServer } from "../support/fault-server.ts";
import { reset, say } from "../support/faults.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { ASK_STATUS, RUNNING_ANSWER, RUNNING_RECORD } from "../support/one-read.ts";
import { startCounter } from "../support/silent-ports.ts";

const RECORDS = { "ada/mnist/experiments/42/": RUNNING_RECORD };

/** Posts a body as it is. */
async function post(url: string, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "token t0ken", ...headers },
    body,
  });
  return { status: response.status, text: await response.text() };
}

describe("what one caller gets, no other caller sees", () => {
  /** 200 requests of 20 callers at once, each for the same record; the service writes the token into it. */
  async function askAsMany(isBroken: (call: number) => boolean) {
    const service = await startFaultServer(({ headers, path }) => ({
      json: {
        id: Number(/(\d+)\/$/.exec(path)?.[1]),
        last_status: "running",
        description: String(headers["authorization"]),
        build_job: "ada.mnist.builds.9",
      },
    }));
    service.fail(/./, reset, (call) => isBroken(call) && call % 10 === 1);
    service.fail(
      /./,
      say({ status: 500, json: { detail: "no" } }),
      (call) => isBroken(call) && call % 10 === 5,
    );
    // Until the service has accepted their tokens, all of them share a quarter of the places.
    const env = { UPSTREAM_RETRIES: "2", MAX_OPERATIONS: "1000" };
    const { ask } = await startGateway({ upstream: service, env });
    const query = `{ experiment(id: "ada.mnist.42") { description buildJob { description } } }`;
    return Promise.all(
      Array.from({ length: 200 }, async (_, turn) => {
        const token = `caller-${turn % 20}`;
        const { data } = await ask<{ experiment: Seen | null }, unknown>(query, {}, { token });
        const seen = [data.experiment?.description, data.experiment?.buildJob?.description];
        return { token, seen: seen.filter((each) => each != null) };
      }),
    );
  }
  interface Seen {
    readonly description: string | null;
    readonly buildJob: { readonly description: string | null } | null;
  }

  test("while the service fails now and then", async () => {
    const answers = await askAsMany(() => true);
    for (const { token, seen } of answers) {
      expect(seen.filter((each) => each !== `token ${token}`)).toEqual([]);
    }
    expect(answers.filter(({ seen }) => seen.length < 2).length).toBeGreaterThan(0);
    expect(answers.filter(({ seen }) => seen.length === 2).length).toBeGreaterThan(100);
  });
});

describe("the service cannot send the gateway elsewhere", () => {
  const STATUSES = `{ experiment(id: "ada.mnist.42") { statuses(first: 100) { nodes { status } } } }`;

  test.each([
    (elsewhere: string) => `${elsewhere}/api/v1/ada/mnist/experiments/42/statuses?offset=1`,
    (elsewhere: string) => `${elsewhere.replace("http:", "")}/x?limit=1&offset=2`,
    (elsewhere: string) => `${elsewhere}/@127.0.0.1/?page=2&token=x`,
    () => "file:///etc/passwd?cursor=x",
    () => "?offset=1&x=y",
    () => "../../../admin/?page=2",
  ])("by the link to the next page", async (link) => {
    const elsewhere = await startCounter();
    const service = await startFake(() => ({
      json: { count: 9, next: link(elsewhere.url), results: [{ id: 1, status: "created" }] },
    }));
    const { ask } = await startGateway({ upstream: service });
    const answer = (await ask(STATUSES)) as Answer<unknown>;
    expect(codesOf(answer)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
    expect(elsewhere.connections()).toBe(0);
    for (const { path } of service.seen()) {
      expect(path).toMatch(
        /^\/api\/v1\/ada\/mnist\/experiments\/42\/statuses(\?(limit|offset|page|cursor)=\w*(&offset=2)?)?$/,
      );
    }
  });
});

/** `{"a":{"a":…}}`, or lists in lists. */
const nested = (depth: number, [open, close]: readonly [string, string] = ["[", "]"]) =>
  open.repeat(depth) + close.repeat(depth);

describe("an answer of the service cannot bring the gateway down", () => {
  test.each([
    ["lists in lists", nested(100_000)],
    ["objects in objects", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
    ["brackets that are never closed", "[".repeat(100_000)],
    ["a record with lists in lists under its declarations", `{"id": 42, "declarations": ${nested(100_000)}}`],
    [
      "a record with objects in objects under its name",
      `{"id": 42, "name": ${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`,
    ],
    ["a record with a deep text of YAML", JSON.stringify({ id: 42, content: nested(20_000) })],
  ])("by its depth: %s", async (_, text) => {
    const service = await startFaultServer(() => ({ text, headers: { "content-type": "application/json" } }));
    const { ask } = await startGateway({ upstream: service });
    const query = `{ experiment(id: "ada.mnist.42") { name declarations config { cmd: version } } gateway { __typename } }`;
    const answer = (await ask(query)) as Answer<{ gateway: object }>;
    expect(codesOf(answer)).not.toContain("INTERNAL_SERVER_ERROR");
    expect(answer.data.gateway).toEqual({ __typename: "GatewayInfo" });
    service.fail(/./, say({ status: 400, text, headers: { "content-type": "application/json" } }));
    expect(codesOf((await ask(ASK_STATUS)) as Answer<unknown>)).toEqual(["BAD_USER_INPUT"]);
    service.heal();
    service.fail(/./, say({ json: RUNNING_RECORD }));
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
  });

  test.each(["__proto__", "constructor", "hasOwnProperty", "toString", "prototype"])(
    "by a metric that is called %s",
    async (name) => {
      const text = `{"id": 42, "last_metric": {"${name}": 1, "loss": 0.5}, "declarations": {"${name}": {"polluted": true}}}`;
      const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
      const { ask } = await startGateway({ upstream: service });
      const query = `query ($name: String!) { experiment(id: "ada.mnist.42") {
        lastMetric(names: [$name]) { name value }
        known: lastMetricValue(name: $name)
        loss: lastMetricValue(name: "loss")
        unknown: lastMetricValue(name: "valueOf")
      } }`;
      expect(await ask(query, { name })).toEqual({
        data: { experiment: { lastMetric: [{ name, value: 1 }], known: 1, loss: 0.5, unknown: null } },
      });
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    },
  );
});

describe("a request cannot bring the gateway down", () => {
  test.each([
    ["lists in lists", nested(100_000)],
    ["a query of brackets", JSON.stringify({ query: nested(100_000, ["{a", "}"]) })],
    ["a query of brackets never closed", JSON.stringify({ query: "{a".repeat(100_000) })],
    [
      "a query of lists as an argument",
      JSON.stringify({ query: `{ experiment(id: ${nested(50_000)}) { id } }` }),
    ],
    [
      "deep variables",
      `{"query": "query ($id: ID!) { experiment(id: $id) { id } }", "variables": {"id": ${nested(100_000)}}}`,
    ],
    [
      "deep extensions",
      `{"query": "{ gateway { version } }", "extensions": ${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}}`,
    ],
  ])("by the depth of its JSON: %s", async (_, body) => {
    const { url, ask } = await startGateway({ upstream: await startRecords(RECORDS) });
    const { status, text } = await post(url, body);
    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/INTERNAL_SERVER_ERROR| {4}at |node_modules/);
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
  });
});

describe("passwords cannot be guessed many at a time", () => {
  const login = (name: string, password: string) =>
    `${name}: login(input: { username: "ada", password: "${password}" }) { token }`;
  const many = Array.from({ length: 5 }, (_, turn) => login(`l${turn}`, `guess-${turn}`)).join(" ");

  test.each([
    ["aliases", `mutation { ${many} }`],
    ["inline fragments", `mutation { ${login("a", "1")} ... on Mutation { ${login("b", "2")} } }`],
    [
      "fragments",
      `mutation { ...A ...B } fragment A on Mutation { ${login("a", "1")} } fragment B on Mutation { ${login("b", "2")} }`,
    ],
    [
      "fragments in fragments",
      `mutation { ${login("a", "1")} ...A } fragment A on Mutation { ...B } fragment B on Mutation { ${login("b", "2")} }`,
    ],
    [
      "directives",
      `mutation { ${login("a", "1").replace("{ token }", "@include(if: true) { token }")} ${login("b", "2").replace("{ token }", "@skip(if: false) { token }")} }`,
    ],
  ])("by %s", async (_, query) => {
    const service = await startFake(() => ({ json: { token: "n3w" } }));
    const { ask } = await startGateway({ upstream: service });
    const answer = (await ask(query, {}, { token: null })) as Answer<unknown>;
    expect(answer.data ?? null).toBeNull();
    expect(codesOf(answer)).toContain("OPERATION_TOO_LARGE");
    expect(service.calls()).toEqual([]);
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
  const ENDS = ["\r\n", "\n", "\r", "\r\n ", "\u0085", "%0d%0a", "\\r\\n", "\u0000"];
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
      const head = [
        "POST /graphql HTTP/1.1",
        "host: a",
        "connection: close",
        "content-type: application/json",
      ];
      const sent = [...head, ...lines, `content-length: ${body.length}`, "", body].join("\r\n");
      expect(await raw(url, sent)).toMatch(/^HTTP\/1\.1 (?:200|400)/);
      for (const { headers } of service.seen()) {
        expect(Object.keys(headers).filter((key) => !ALLOWED.has(key))).toEqual([]);
        expect(JSON.stringify(headers)).not.toContain("canary");
      }
    },
  );
  const ALLOWED = new Set([
    "accept",
    "authorization",
    "connection",
    "host",
    "traceparent",
    "user-agent",
    "x-request-id",
  ]);

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
