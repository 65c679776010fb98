import { connect } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { cases } from "../support/cases.ts";
import { codesOf } from "../support/errors.ts";
import { startFake, startRecords } from "../support/fake.ts";
import { startFaultServer } from "../support/fault-server.ts";
import { bombOf, flood, reset, say } from "../support/faults.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen, portIn } from "../support/listen.ts";
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

  test("while all goes well", async () => {
    for (const { token, seen } of await askAsMany(() => false)) {
      expect(seen).toEqual([`token ${token}`, `token ${token}`]);
    }
  });

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

  test.each([301, 302, 303, 307, 308])(
    "by a Location in an answer of %i, to a read, a command or a download",
    async (status) => {
      const elsewhere = await startCounter();
      const service = await startFake(() => ({
        status,
        text: "",
        headers: { location: `${elsewhere.url}/x` },
      }));
      const { ask, url } = await startGateway({ upstream: service });
      const command = `mutation { stopExperiment(id: "ada.mnist.42") { experiment { status } } }`;
      for (const query of [ASK_STATUS, command]) {
        expect(codesOf((await ask(query)) as Answer<unknown>)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
      }
      const id = globalId("Experiment:ada/mnist/42");
      const headers = { authorization: "token t0ken" };
      const download = await fetch(`${url}/downloads/${id}/outputs`, { headers, redirect: "manual" });
      expect([download.status, download.headers.get("location")]).toEqual([502, null]);
      await download.text();
      expect(elsewhere.connections()).toBe(0);
    },
  );
});

/** `{"a":{"a":…}}`, or lists in lists. */
const nested = (depth: number, [open, close]: readonly [string, string] = ["[", "]"]) =>
  open.repeat(depth) + close.repeat(depth);

describe("an answer of the service cannot bring the gateway down", () => {
  test("by inflating in the memory: commands, reads and refusals", async () => {
    const text = await bombOf(60);
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const service = await startFaultServer(() => ({ text, headers }));
    const { ask } = await startGateway({ upstream: service });
    expect(codesOf((await ask(ASK_STATUS)) as Answer<unknown>)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
    service.fail(/./, say({ status: 404, text, headers }));
    expect(codesOf((await ask(ASK_STATUS)) as Answer<unknown>)).toEqual(["NOT_FOUND"]);
  });

  test("by a refusal, or an answer to a command, that has no end", async () => {
    const service = await startFaultServer(() => ({ json: RUNNING_RECORD }));
    const { ask } = await startGateway({ upstream: service });
    const closed: Promise<unknown>[] = [];
    service.fail(/stop/, (trouble) => {
      closed.push(new Promise((gone) => trouble.response.on("close", gone)));
      return flood({ chunk: "x".repeat(100_000) })(trouble);
    });
    const command = `mutation { stopExperiment(id: "ada.mnist.42") { experiment { status } } }`;
    expect(await ask(command)).toEqual({ data: { stopExperiment: { experiment: { status: "RUNNING" } } } });
    expect(closed).toHaveLength(1);
    await Promise.all(closed);
  });

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

  // In a time that grows with their square no test would end.
  const QUOTES = '\\"'.repeat(2_000_000);
  test.each([
    ["never closed", `{"id": 42, "name": "${QUOTES}`],
    ["never closed, behind a NaN", `{"id": NaN, "name": "${QUOTES}`],
    ["never closed, and a lone backslash at the end", `{"id": NaN, "name": "${QUOTES}\\`],
  ])("by text that is slow to read: quotes that are escaped and %s", async (_, text) => {
    const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
    const env = { UPSTREAM_TIMEOUT_MS: "60000", REQUEST_TIMEOUT_MS: "60000" };
    const { ask } = await startGateway({ upstream: service, env });
    expect(codesOf((await ask(ASK_STATUS)) as Answer<unknown>)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
  });

  test("by a long list of things that are no records", async () => {
    const text = `{"results": [${"7,".repeat(500_000)}7]}`;
    const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
    const { ask } = await startGateway({ upstream: service });
    const query = `{ experiment(id: "ada.mnist.42") { statuses { nodes { status } } } }`;
    expect(codesOf((await ask(query)) as Answer<unknown>)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
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

  test("by fragments that double at every step: they are refused before anything is sent", async () => {
    const service = await startRecords(RECORDS);
    const { ask } = await startGateway({ upstream: service, env: { MAX_ROOT_FIELDS: "20" } });
    const steps = Array.from(
      { length: 60 },
      (_, step) => `fragment F${step} on Query { ...F${step + 1} ...F${step + 1} }`,
    );
    const query = `{ ...F0 } ${steps.join(" ")} fragment F60 on Query { experiment(id: "ada.mnist.42") { status } }`;
    const answer = (await ask(query)) as Answer<unknown>;
    expect(codesOf(answer).length).toBeGreaterThan(0);
    for (const code of codesOf(answer)) expect(code).toMatch(/^OPERATION_TOO_/);
    expect(service.calls()).toEqual([]);
  });

  test("by fragments that double below a field", async () => {
    const service = await startRecords(RECORDS);
    const { ask } = await startGateway({ upstream: service });
    const steps = Array.from(
      { length: 60 },
      (_, step) => `fragment F${step} on Experiment { ...F${step + 1} ...F${step + 1} }`,
    );
    const query = `{ experiment(id: "ada.mnist.42") { ...F0 } } ${steps.join(" ")} fragment F60 on Experiment { status }`;
    const answer = (await ask(query)) as Answer<unknown>;
    expect(codesOf(answer)).not.toContain("INTERNAL_SERVER_ERROR");
    expect(service.calls().length).toBeLessThanOrEqual(1);
  });

  test("by a small document that needs many requests: it gets what one operation may have", async () => {
    const service = await startFake(({ path }) =>
      path.endsWith("jobs")
        ? {
            json: {
              count: 150,
              next: null,
              results: Array.from({ length: 150 }, (_, id) => ({ id: id + 1 })),
            },
          }
        : { json: { count: 1, next: null, results: [{ id: 1, status: "running" }] } },
    );
    const { ask } = await startGateway({ upstream: service, env: { MAX_UPSTREAM_REQUESTS: "200" } });
    const jobs = (id: number) =>
      `e${id}: experiment(id: "ada.mnist.${id}") { jobs { nodes { statuses { nodes { status } } } } }`;
    const answer = (await ask(`{ ${[1, 2, 3, 4].map(jobs).join(" ")} }`)) as Answer<Record<string, Jobs>>;
    expect(service.calls()).toHaveLength(200);
    expect(new Set(codesOf(answer))).toEqual(new Set(["REQUEST_LIMIT_EXCEEDED"]));
    const statuses = Object.values(answer.data).flatMap(({ jobs: { nodes } }) => nodes);
    expect(statuses.filter((node) => node.statuses !== null)).toHaveLength(196);
    expect(answer.errors).toMatchObject([
      { extensions: { unsentRequests: 600 - 196, paths: { length: 600 - 196 } } },
    ]);
  });
  interface Jobs {
    readonly jobs: { readonly nodes: readonly { readonly statuses: unknown }[] };
  }

  test("by thousands of different documents", async () => {
    const service = await startRecords(RECORDS);
    const { url, ask } = await startGateway({ upstream: service });
    for (let turn = 0; turn < cases(1_000, 5_000); turn += 50) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, step) =>
          post(url, JSON.stringify({ query: `query Q${turn + step} { a${turn + step}: __typename }` })),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    }
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
    expect(service.calls()).toHaveLength(1);
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

  test("by a batch, or by several operations of one document", async () => {
    const service = await startFake(() => ({ json: { token: "n3w" } }));
    const { url } = await startGateway({ upstream: service });
    const one = { query: `mutation { ${login("a", "1")} }` };
    expect((await post(url, JSON.stringify([one, one]))).status).toBe(400);
    expect(service.calls()).toEqual([]);
    const two = `mutation A { ${login("a", "1")} } mutation B { ${login("b", "2")} }`;
    await post(url, JSON.stringify({ query: two, operationName: "A" }));
    expect(service.calls()).toEqual(["POST users/token/"]);
  });
});

describe("a password that is written in the wrong way is not repeated", () => {
  const SECRET = "c4nary";
  const NUMBER = 20_314_159;
  const withPassword = (password: string) =>
    `mutation { login(input: { username: "ada", password: ${password} }) { token } }`;
  const withDefault = (value: string) =>
    `mutation ($password: String! = ${value}) { login(input: { username: "ada", password: $password }) { token } }`;
  const byVariable = `mutation ($input: LoginInput!) { login(input: $input) { token } }`;

  test.each<[string, string, unknown?]>([
    ["as a number", withPassword(`${NUMBER}`)],
    ["as a fraction", withPassword(`${NUMBER}.5`)],
    ["as a number that is none", withPassword(`${NUMBER}x`)],
    ["without quotes", withPassword(SECRET)],
    ["without quotes, in two words", withPassword(`open ${SECRET}`)],
    ["as an object", withPassword(`{ a: "${SECRET}" }`)],
    ["as a list", withPassword(`["${SECRET}"]`)],
    ["as two texts", withPassword(`"open" "${SECRET}"`)],
    ["as two numbers", withPassword(`1 ${NUMBER}`)],
    ["as a text that never ends", withPassword(`"${SECRET}`)],
    ["as a long text that never ends", withPassword(`"""${SECRET}`)],
    ["in single quotes", withPassword(`'${SECRET}'`)],
    ["without its name", `mutation { login(input: { username: "ada", "${SECRET}" }) { token } }`],
    ["in place of the input", `mutation { login(input: "${SECRET}") { token } }`],
    ["in place of the input, as a list", `mutation { login(input: ["${SECRET}"]) { token } }`],
    ["in place of the input, as a number", `mutation { login(input: ${NUMBER}) { token } }`],
    ["in place of the input, as a word", `mutation { login(input: ${SECRET}) { token } }`],
    ["as a default of another type", withDefault(`["${SECRET}"]`)],
    ["as a default that is a number", withDefault(`${NUMBER}`)],
    ["twice", withPassword(`"${SECRET}", password: "${SECRET}"`)],
    ["in a variable, as a number", byVariable, { username: "ada", password: NUMBER }],
    ["in a variable, with words that look like GraphQL's", byVariable, `open; ${SECRET} at "x"; ${SECRET}`],
    ["in place of a variable", byVariable, NUMBER],
  ])("%s", async (_, query, input) => {
    const service = await startFake(() => ({ json: { token: "n3w" } }));
    const { url, logged } = await startGateway({ upstream: service, env: { LOG_LEVEL: "debug" } });
    const { text } = await post(url, JSON.stringify({ query, variables: { input } }));
    expect(text).toContain('"errors"');
    expect(text + logged()).not.toMatch(new RegExp(`${SECRET}|${NUMBER}`));
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

test.each(["production", "development", "test", "", "nonsense"])(
  "with NODE_ENV %j no error tells a stack, a host or a path",
  async (environment) => {
    vi.stubEnv("NODE_ENV", environment);
    onTestFinished(() => void vi.unstubAllEnvs());
    const broken = await listen((_, response) => void response.destroy());
    const { url } = await startGateway({ upstream: { url: broken } });
    const said = await Promise.all(
      [
        JSON.stringify({ query: ASK_STATUS }),
        JSON.stringify({ query: "{ experiment(" }),
        JSON.stringify({ query: "{ nothing }" }),
        JSON.stringify({ query: `{ experiment(id: 7.5) { status } }` }),
        JSON.stringify({ query: "query ($id: ID!) { experiment(id: $id) { id } }", variables: { id: {} } }),
        JSON.stringify({ query: 7 }),
        JSON.stringify({}),
        "null",
        "[]",
        "{",
        "",
      ].map((body) => post(url, body)),
    );
    for (const { text } of said) {
      expect(text).toContain('"errors"');
      expect(text).not.toMatch(
        / {4}at |\.[jt]s:|node_modules|"stack"|originalError|127\.0\.0\.1|ECONN|ada\/mnist/,
      );
      expect(text).not.toMatch(portIn(broken));
    }
  },
);
