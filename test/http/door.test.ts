import { request } from "node:http";
import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from "graphql";
import pino from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createGateway } from "../../src/gateway.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";

/** The limits as they come, which the harness widens. */
const AS_IT_COMES = { MAX_ROOT_FIELDS: "", MAX_ALIASES: "" };
const APP = "https://app.example";

interface Sending {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | FormData | URLSearchParams | ReadableStream;
}

/** One raw request. */
async function send(url: string, { method = "POST", headers = {}, body }: Sending = {}) {
  const streaming = body instanceof ReadableStream ? { duplex: "half" as const } : {};
  const response = await fetch(url, { method, headers, ...(body ? { body } : {}), ...streaming });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    codes: () =>
      (JSON.parse(text) as { errors: { extensions: { code: string } }[] }).errors.map(
        ({ extensions }) => extensions.code,
      ),
  };
}

const JSON_BODY = { "content-type": "application/json" };
const asJson = (query: string, variables?: object) => JSON.stringify({ query, variables });

/** A body of so many bytes in pieces, whose length nobody announces. */
function inPieces(text: string): ReadableStream {
  const pieces = text.match(/[^]{1,1000}/g) ?? [];
  return new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
}

const operationsIn = (logged: string) =>
  logged
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === "operation");

describe("bodies", () => {
  const STOP = `mutation { stopJob(id: "ada.mnist.jobs.2") { job { id } } }`;
  const form = new FormData();
  form.set("operations", asJson(STOP));
  form.set("map", "{}");

  test.each<[string, Sending]>([
    ["a form", { body: new URLSearchParams({ query: STOP }) }],
    ["a multipart form", { body: form }],
    ["plain text", { body: asJson(STOP), headers: { "content-type": "text/plain" } }],
    [
      "plain text that names JSON",
      { body: asJson(STOP), headers: { "content-type": "text/plain; application/json" } },
    ],
    ["a bare document", { body: STOP, headers: { "content-type": "application/graphql" } }],
    ["something without a type", { body: asJson(STOP), headers: { "content-type": "" } }],
  ])("of %s are refused, and nothing is run", async (_, sending) => {
    const { url, logged, calls, demo } = await startDemoGateway();
    const token = demo.users[0]?.token ?? "";
    const headers = { ...sending.headers, authorization: `token ${token}` };
    const { status, codes } = await send(`${url}/graphql`, { ...sending, headers });
    expect(status).toBe(415);
    expect(codes()).toEqual(["BAD_USER_INPUT"]);
    expect(calls()).toEqual([]);
    expect(operationsIn(logged() || "{}")).toEqual([]);
  });

  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/graphql+json",
  ])("of %s are taken", async (contentType) => {
    const { url } = await startDemoGateway();
    const body = asJson("{ __typename }");
    const { text } = await send(`${url}/graphql`, { body, headers: { "content-type": contentType } });
    expect(JSON.parse(text)).toEqual({ data: { __typename: "Query" } });
  });

  const withLength = (bytes: number) => asJson("{ __typename }").padEnd(bytes);

  test.each([
    ["with its length", (bytes: number) => withLength(bytes)],
    ["in pieces", (bytes: number) => inPieces(withLength(bytes))],
  ])("sent %s may have MAX_BODY_BYTES and no byte more", async (_, body) => {
    const { url } = await startDemoGateway({ env: { MAX_BODY_BYTES: "5000" } });
    const fits = await send(`${url}/graphql`, { body: body(5000), headers: JSON_BODY });
    expect(JSON.parse(fits.text)).toEqual({ data: { __typename: "Query" } });
    const tooLong = await send(`${url}/graphql`, { body: body(5001), headers: JSON_BODY });
    expect([tooLong.status, tooLong.codes()]).toEqual([413, ["OPERATION_TOO_LARGE"]]);
    const farTooLong = await send(`${url}/graphql`, { body: body(500_000), headers: JSON_BODY });
    expect([farTooLong.status, farTooLong.codes()]).toEqual([413, ["OPERATION_TOO_LARGE"]]);
    const next = await send(`${url}/graphql`, { body: body(100), headers: JSON_BODY });
    expect(JSON.parse(next.text)).toEqual({ data: { __typename: "Query" } });
  });

  test("that break off half-way do no harm", async () => {
    const { url, ask } = await startDemoGateway();
    const breaking = request(`${url}/graphql`, {
      method: "POST",
      headers: { ...JSON_BODY, "transfer-encoding": "chunked" },
    });
    breaking.on("error", () => {});
    const broken = new Promise((done) => breaking.once("close", done));
    breaking.write(`{"query":`, () => breaking.destroy());
    await broken;
    expect(await ask("{ __typename }")).toEqual({ data: { __typename: "Query" } });
  });

  test("may not hold a batch", async () => {
    const { url, calls } = await startDemoGateway();
    const body = JSON.stringify([{ query: STOP }, { query: STOP }]);
    const { status, codes } = await send(`${url}/graphql`, { body, headers: JSON_BODY });
    expect([status, codes()]).toEqual([400, ["BAD_REQUEST"]]);
    expect(calls()).toEqual([]);
  });
});

describe("methods and paths", () => {
  test("a query may be asked by GET, a mutation not", async () => {
    const { url, calls } = await startDemoGateway();
    const by = (query: string) =>
      send(`${url}/graphql?query=${encodeURIComponent(query)}`, {
        method: "GET",
        headers: { accept: "application/json" },
      });
    expect(JSON.parse((await by("{ __typename }")).text)).toEqual({ data: { __typename: "Query" } });
    const { status, codes } = await by(
      `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`,
    );
    expect([status, codes()]).toEqual([405, ["BAD_REQUEST"]]);
    expect(calls()).toEqual([]);
  });

  test.each(["PUT", "PATCH", "DELETE"])("%s is not for GraphQL", async (method) => {
    const { url } = await startDemoGateway();
    const { status, headers } = await send(`${url}/graphql`, { method });
    expect([status, headers.get("allow")]).toEqual([405, "GET, POST"]);
  });

  test.each(["/graphql/", "/graphqlx", "/api/v1/ada/mnist", "/healthz/", "/downloads/x", "/favicon.ico"])(
    "there is nothing at %s",
    async (path) => {
      const { url, calls } = await startDemoGateway();
      const { status, text } = await send(url + path, { method: "GET" });
      expect([status, text]).toEqual([404, "not found\n"]);
      expect(calls()).toEqual([]);
    },
  );
});

describe("pages of other origins", () => {
  const namesOf = (headers: Headers) =>
    [...headers.keys()].filter((name) => name.startsWith("access-control-")).toSorted();
  const asking = (url: string, path: string, origin: string) =>
    send(url + path, { method: "GET", headers: { origin, accept: "application/json" } });
  const DOWNLOAD = "/downloads/Sm9iOmFkYS9tbmlzdC8y/logs";
  const PATHS = ["/graphql?query={__typename}", DOWNLOAD];

  test.each(PATHS)("may not ask for %s as long as no origin is allowed", async (path) => {
    const { url } = await startDemoGateway();
    expect(namesOf((await asking(url, path, APP)).headers)).toEqual([]);
    const preflight = await send(url + path, {
      method: "OPTIONS",
      headers: { origin: APP, "access-control-request-method": "POST" },
    });
    expect(namesOf(preflight.headers)).toEqual([]);
  });

  test.each(PATHS)("may ask for %s when their exact origin is allowed", async (path) => {
    const { url } = await startDemoGateway({ env: { CORS_ORIGINS: `${APP}, http://localhost:5173` } });
    for (const origin of [APP, "http://localhost:5173"]) {
      const { headers } = await asking(url, path, origin);
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("vary")).toContain("Origin");
    }
    for (const origin of [
      "https://evil.example",
      `${APP}.evil.example`,
      "http://app.example",
      `${APP}:8443`,
      "null",
    ]) {
      const { headers } = await asking(url, path, origin);
      expect(headers.has("access-control-allow-origin")).toBe(false);
    }
  });

  test("are told before what they may send, and never to send credentials", async () => {
    const { url, calls } = await startDemoGateway({ env: { CORS_ORIGINS: APP } });
    const preflight = (origin: string) =>
      send(`${url}/graphql`, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,x-evil",
        },
      });
    const { status, headers, text } = await preflight(APP);
    expect([status, text]).toEqual([204, ""]);
    expect(headers.get("access-control-allow-origin")).toBe(APP);
    expect(headers.get("access-control-allow-methods")).toBe("GET,POST");
    expect(headers.get("access-control-allow-headers")).toBe(
      "authorization,content-type,x-request-id,traceparent,range,if-range",
    );
    expect(headers.has("access-control-allow-credentials")).toBe(false);
    expect((await preflight("https://evil.example")).headers.has("access-control-allow-origin")).toBe(false);
    expect(calls()).toEqual([]);
  });

  test("can read a refusal as well", async () => {
    const { url } = await startDemoGateway({ env: { CORS_ORIGINS: APP } });
    const { status, headers } = await send(`${url}/graphql`, { body: "x", headers: { origin: APP } });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([415, APP]);
  });
});

describe("the schema", () => {
  test("can be asked for, however shallow operations must be", async () => {
    const { ask } = await startDemoGateway({ env: { ...AS_IT_COMES, MAX_DEPTH: "1" } });
    const { data, errors } = await ask<IntrospectionQuery, object>(getIntrospectionQuery());
    expect(errors).toBeUndefined();
    expect(buildClientSchema(data).getType("Experiment")).toBeDefined();
  });

  test("cannot be asked for in circles", async () => {
    const { ask } = await startDemoGateway();
    const round = (rest: string) => `fields { type { ${rest} } }`;
    const { data, errors } = await ask<unknown, object>(
      `{ __schema { types { ${round(round(round(round("name"))))} } } }`,
    );
    expect(data).toBeUndefined();
    expect(errors?.[0]?.extensions["code"]).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  const GUESSES: readonly [query: string, variables?: object][] = [
    ["{ viewr { id } }"],
    ["{ viewer { usernam } }"],
    [`{ experiment(id: "x", idd: "x") { id } }`],
    [`{ experiment(id: "x") { ... on Experimentt { id } } }`],
    [`{ entity(id: "x") { username } }`],
    [`{ group(id: "x") { experiments(orderBy: CREATED_ASD) { totalCount } } }`],
    [`mutation { login(input: { username: "a", password: "b", usernme: "a" }) { token } }`],
    [
      `query G($o: RunOrder) { group(id: "x") { experiments(orderBy: $o) { totalCount } } }`,
      { o: "CREATED_ASD" },
    ],
    [
      `mutation L($i: LoginInput!) { login(input: $i) { token } }`,
      { i: { usernme: "a", username: "b", password: "c" } },
    ],
  ];

  test.each(GUESSES)("that is hidden is not told by a guess: %s", async (query, variables) => {
    const { ask, calls } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
    const { errors = [] } = await ask<unknown, object>(query, variables ?? {});
    expect(errors.length).toBeGreaterThan(0);
    expect(JSON.stringify(errors)).not.toMatch(/did you mean/i);
    expect(calls()).toEqual([]);
  });

  test.each([getIntrospectionQuery(), "{ __schema { types { name } } }", `{ __type(name: "Job") { name } }`])(
    "that is hidden is not shown",
    async (query) => {
      const { ask } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
      const { data, errors } = await ask<unknown, object>(query);
      expect(data).toBeUndefined();
      expect(errors?.[0]?.extensions["code"]).toBe("GRAPHQL_VALIDATION_FAILED");
      expect(await ask("{ __typename }")).toEqual({ data: { __typename: "Query" } });
    },
  );

  test.each([
    ["on", true],
    ["off", false],
  ])("has its GraphiQL page when GRAPHIQL is %s", async (GRAPHIQL, isThere) => {
    const { url } = await startDemoGateway({ env: { GRAPHIQL } });
    const { text } = await send(`${url}/graphql`, { method: "GET", headers: { accept: "text/html" } });
    expect(text.includes("<html")).toBe(isThere);
  });
});

describe("limits of an operation", () => {
  const many = (count: number, field: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => field(index)).join(" ");
  /** An experiment with so many levels in all. */
  const deep = (levels: number) =>
    `{ experiment(id: "ada.mnist.42") { ${"original { ".repeat(levels - 2)} id ${"} ".repeat(levels - 2)} } }`;
  const login = (alias: string) =>
    `${alias}: login(input: { username: "ada", password: "canary-${alias}" }) { token }`;
  const stop = (index: number) => `m${index}: stopJob(id: "ada.mnist.jobs.2") { job { internalId } }`;

  test.each<[string, string, string]>([
    ["too deep", deep(17), "OPERATION_TOO_DEEP"],
    [
      "too deep through fragments",
      `{ experiment(id: "ada.mnist.42") { ...A } } fragment A on Experiment { ${"original { ".repeat(14)} ...B ${"} ".repeat(14)} } fragment B on Experiment { original { id } }`,
      "OPERATION_TOO_DEEP",
    ],
    ["of too many tokens", `{ viewer { ${many(4_000, () => "id")} } }`, "OPERATION_TOO_LARGE"],
    ["of too many aliases", `{ viewer { ${many(101, (index) => `a${index}: id`)} } }`, "OPERATION_TOO_LARGE"],
    ["of 21 root fields", `{ ${many(21, (index) => `v${index}: viewer { id }`)} }`, "OPERATION_TOO_LARGE"],
    [
      "of 21 root fields through fragments",
      `{ ...A ... { ${many(10, (index) => `a${index}: viewer { id }`)} } } fragment A on Query { ${many(11, (index) => `b${index}: viewer { id }`)} }`,
      "OPERATION_TOO_LARGE",
    ],
    ["of 11 commands", `mutation { ${many(11, stop)} }`, "OPERATION_TOO_LARGE"],
    ["of two logins", `mutation { ${login("a")} ${login("b")} }`, "OPERATION_TOO_LARGE"],
    [
      "of two logins through fragments",
      `mutation { ...A ...B } fragment A on Mutation { ${login("a")} } fragment B on Mutation { ... { ${login("b")} } }`,
      "OPERATION_TOO_LARGE",
    ],
  ])("one %s is refused, and nothing of it is sent", async (_, query, code) => {
    const { ask, calls } = await startDemoGateway({ env: AS_IT_COMES });
    const { data, errors = [] } = await ask<unknown, object>(query);
    expect(data).toBeUndefined();
    expect(errors.map(({ extensions }) => extensions["code"])).toContain(code);
    expect(JSON.stringify(errors)).not.toContain("canary");
    expect(calls()).toEqual([]);
  });

  test.each<[string, string]>([
    ["15 levels", deep(15)],
    ["100 aliases", `{ viewer { ${many(100, (index) => `a${index}: id`)} } }`],
    ["20 root fields", `{ ${many(20, (index) => `v${index}: viewer { id }`)} }`],
    ["10 commands", `mutation { ${many(10, stop)} }`],
    ["one login", `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`],
  ])("one of %s is run", async (_, query) => {
    const { ask } = await startDemoGateway({ env: AS_IT_COMES });
    const { errors = [] } = await ask<unknown, object>(query);
    expect(errors.filter(({ extensions }) => String(extensions["code"]).startsWith("OPERATION_"))).toEqual(
      [],
    );
  });
});

describe("probes", () => {
  test("say that it lives, and that it is ready until it is asked to stop", async () => {
    const config = readConfig({});
    const upstreamUrl = new URL("http://127.0.0.1:1");
    const gateway = createGateway({ config, upstreamUrl, log: pino({ level: "silent" }) });
    onTestFinished(() => gateway.close());
    const url = await listen(gateway.handle);
    const probe = async (path: string) => {
      const { status, text } = await send(url + path, { method: "GET" });
      return [status, text];
    };
    expect(await probe("/healthz")).toEqual([200, "alive\n"]);
    expect(await probe("/readyz")).toEqual([200, "ready\n"]);
    gateway.drain();
    expect(await probe("/healthz")).toEqual([200, "alive\n"]);
    expect(await probe("/readyz")).toEqual([503, "draining\n"]);
  });
});

describe("metrics", () => {
  test("count operations and exchanges by templates, never by names", async () => {
    const { ask, url } = await startDemoGateway({ env: AS_IT_COMES });
    await ask(`query Canary { experiment(id: "ada.mnist.42") { status } }`);
    await ask(`query Canary { experiment(id: "canary.canary.471100174") { status } }`);
    await ask(`query Canary { job(id: "ada.mnist.jobs.2") { status } }`);
    await ask("{ canary }");
    await ask("{ canary ");
    await send(`${url}/graphql`, { body: "canary=1", headers: { "content-type": "text/plain" } });
    const { status, headers, text } = await send(`${url}/metrics`, { method: "GET" });
    expect([status, headers.get("content-type")]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
    const lines = text
      .split("\n")
      .filter((line) => /^rungraph_\w+(?:total|circuit|running|waiting|shed|open)\b/.test(line));
    expect(lines.toSorted()).toEqual([
      "rungraph_circuit_open 0",
      "rungraph_downloads_running 0",
      `rungraph_exchanges_running 0`,
      "rungraph_exchanges_shed 0",
      `rungraph_exchanges_total{method="GET",route="{owner}/{project}/experiments/{id}/",outcome="2xx"} 1`,
      `rungraph_exchanges_total{method="GET",route="{owner}/{project}/experiments/{id}/",outcome="404"} 1`,
      `rungraph_exchanges_total{method="GET",route="{owner}/{project}/jobs/{id}/",outcome="2xx"} 1`,
      "rungraph_exchanges_waiting 0",
      "rungraph_operations_running 0",
      `rungraph_operations_total{type="invalid",code="GRAPHQL_PARSE_FAILED"} 1`,
      `rungraph_operations_total{type="invalid",code="GRAPHQL_VALIDATION_FAILED"} 1`,
      `rungraph_operations_total{type="query",code="NOT_FOUND"} 1`,
      `rungraph_operations_total{type="query",code="OK"} 2`,
      `rungraph_operations_total{type="unread",code="BAD_USER_INPUT"} 1`,
    ]);
    expect(text).toContain(`rungraph_operation_seconds_count{type="query"} 3`);
    expect(text).toContain(
      `rungraph_exchange_seconds_count{method="GET",route="{owner}/{project}/experiments/{id}/"} 2`,
    );
    expect(text).not.toMatch(/canary|471100174|mnist/i);
  });

  test("can be switched off", async () => {
    const { url } = await startDemoGateway({ env: { METRICS: "off" } });
    expect((await send(`${url}/metrics`, { method: "GET" })).status).toBe(404);
  });
});

describe("the request id", () => {
  const ANSWERS: readonly [string, (url: string) => string, Sending][] = [
    ["an answer", (url) => `${url}/graphql`, { body: asJson("{ __typename }"), headers: JSON_BODY }],
    ["an error", (url) => `${url}/graphql`, { body: asJson("{ canary }"), headers: JSON_BODY }],
    ["a body that is no JSON", (url) => `${url}/graphql`, { body: "canary", headers: JSON_BODY }],
    ["a refused download", (url) => `${url}/downloads/canary/logs`, { method: "GET" }],
    ["a refused form", (url) => `${url}/graphql`, { body: new URLSearchParams("a=b") }],
    ["a refused length", (url) => `${url}/graphql`, { body: " ".repeat(300_000), headers: JSON_BODY }],
  ];

  test.each(ANSWERS)("that the caller gave is on %s", async (_, address, sending) => {
    const { url } = await startDemoGateway();
    const headers = { ...sending.headers, "x-request-id": "caller-4711" };
    const answer = await send(address(url), { ...sending, headers });
    expect(answer.headers.get("x-request-id")).toBe("caller-4711");
    const { errors = [] } = JSON.parse(answer.text) as { errors?: { extensions: object }[] };
    for (const { extensions } of errors) expect(extensions).toMatchObject({ requestId: "caller-4711" });
  });

  test.each(["", "two words", "x".repeat(129), `"quoted"`, "<script>"])(
    "%j is none: the gateway makes one, the same for the service, the log and the answer",
    async (given) => {
      const fake = await startFake(() => ({ json: { username: "ada" } }));
      const { url, logged } = await startGateway({ upstream: fake });
      const { headers } = await send(`${url}/graphql`, {
        body: asJson("{ viewer { isSuperuser } }"),
        headers: { ...JSON_BODY, authorization: "token t0ken", "x-request-id": given },
      });
      const made = headers.get("x-request-id") ?? "";
      expect(made).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/);
      expect(fake.seen().map((seen) => seen.headers["x-request-id"])).toEqual([made]);
      expect(operationsIn(logged()).map(({ requestId }) => requestId)).toEqual([made]);
    },
  );
});

describe("the trace", () => {
  const VALID = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const sentOn = async (traceparent: string) => {
    const fake = await startFake(() => ({ json: { username: "ada" } }));
    const { ask } = await startGateway({ upstream: fake });
    await ask("{ viewer { isSuperuser } }", {}, { headers: { traceparent, tracestate: "vendor=canary" } });
    return fake.seen().map(({ headers }) => [headers["traceparent"], headers["tracestate"]]);
  };

  test("of the caller is handed to the service", async () => {
    expect(await sentOn(VALID)).toEqual([[VALID, undefined]]);
  });

  test.each([
    "canary",
    VALID.toUpperCase(),
    `${VALID}, ${VALID}`,
    VALID.slice(0, -1),
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
  ])("%j is none and goes nowhere", async (traceparent) => {
    expect(await sentOn(traceparent)).toEqual([[undefined, undefined]]);
  });
});

describe("the log", () => {
  test("has one line for each operation and one for each exchange, and nothing that a caller sent", async () => {
    const { ask, logged } = await startDemoGateway({ env: AS_IT_COMES });
    await ask(
      `query Page($id: ID!) { experiment(id: $id) { status description } }`,
      { id: "canary.canary.471100174" },
      { headers: { "x-canary": "canary", cookie: "canary=1" } },
    );
    await ask(
      `mutation In($name: String!) { login(input: { username: $name, password: "canary" }) { token } }`,
      { name: "canary" },
      { token: null },
    );
    await ask(`{ viewer { username } secret: job(id: "canary") { id } }`);
    await ask("{ canary }", {}, { token: "canary" });
    const lines = logged()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const told = lines.map(({ msg, level, type, name, codes, method, route, outcome }) =>
      msg === "operation" ? { level, type, name, codes } : { level, method, route, outcome },
    );
    const NOT_FOUND = {
      level: 20,
      method: "GET",
      route: "{owner}/{project}/experiments/{id}/",
      outcome: "404",
    };
    expect(told).toEqual([
      NOT_FOUND,
      { level: 30, type: "query", name: "Page", codes: ["NOT_FOUND"] },
      { level: 20, method: "POST", route: "users/token/", outcome: expect.stringMatching(/^4\d\d$/) },
      { level: 30, type: "mutation", name: "In", codes: ["BAD_CREDENTIALS"] },
      { level: 20, method: "GET", route: "users/", outcome: "2xx" },
      { level: 30, type: "query", name: null, codes: ["BAD_USER_INPUT"] },
      { level: 30, type: "invalid", name: null, codes: ["GRAPHQL_VALIDATION_FAILED"] },
    ]);
    const KEYS = [
      "codes",
      "level",
      "method",
      "ms",
      "msg",
      "name",
      "outcome",
      "requestId",
      "route",
      "time",
      "type",
    ];
    for (const line of lines) expect(KEYS).toEqual(expect.arrayContaining(Object.keys(line)));
    for (const { ms } of lines) expect(Number.isInteger(ms)).toBe(true);
    expect(logged()).not.toMatch(/canary|471100174|authorization/i);
  });

  test("has no line for an exchange at the level it comes with", async () => {
    const fake = await startFake(() => ({ json: { username: "ada" } }));
    const config = readConfig({});
    const lines: string[] = [];
    const log = pino({ level: config.LOG_LEVEL }, { write: (line: string) => void lines.push(line) });
    const gateway = createGateway({ config, upstreamUrl: new URL(fake.url), log });
    onTestFinished(() => gateway.close());
    const url = await listen(gateway.handle);
    await send(`${url}/graphql`, {
      body: asJson("query Who { viewer { isSuperuser } }"),
      headers: { ...JSON_BODY, authorization: "token t0ken" },
    });
    expect(fake.calls()).toHaveLength(1);
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ msg: "operation", type: "query", name: "Who", codes: [] }),
    ]);
  });
});
