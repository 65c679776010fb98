import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { getIntrospectionQuery } from "graphql";
import pino from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createGateway } from "../../src/gateway.ts";
import { startFake, startRecords, type Told } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { NO_DEADLINES, withDeadline } from "../support/patience.ts";
import { detail, html, json, PAGE } from "../support/replies.ts";

const ASK = `{ experiment(id: "ada.mnist.42") { status } }`;
const PATH = "/api/v1/ada/mnist/experiments/42/";
const CALL = "GET ada/mnist/experiments/42/";
const UPSTREAM = { method: "GET", route: "{owner}/{project}/experiments/{id}/" };
const EXPERIMENT = { id: 42, last_status: "running" };
const RUNNING = { data: { experiment: { status: "RUNNING" } } };
const TOKEN = "c4nary.T0ken";

/** What `ASK` answers when it fails, in a request named `story-1`. */
const failure = (code: string, message: string, facts: object = {}) => ({
  data: { experiment: null },
  errors: [
    {
      message,
      locations: [{ line: 1, column: 3 }],
      path: ["experiment"],
      extensions: { code, requestId: "story-1", ...facts },
    },
  ],
});

/** What nobody is told: where the service is, which record was asked for, its pages, the token. */
function expectNothingLeaked(answer: unknown, logged: string, url: string): void {
  const words = `${JSON.stringify(answer)} ${logged}`.replaceAll(/"time":\d+/g, "");
  for (const secret of [TOKEN, "canary", "127.0.0.1", new URL(url).port, "ada/mnist", "<html", "<h1"]) {
    expect(words).not.toContain(secret);
  }
}

/** Asks for one experiment of a service that gives the same answer to everything. */
async function askOf(told: Told, env: Record<string, string> = {}) {
  const service = await startFake(() => told);
  const { ask, logged } = await startGateway({ upstream: service, token: TOKEN, env });
  const answer = await ask(ASK, {}, { headers: { "x-request-id": "story-1" } });
  expectNothingLeaked(answer, logged(), service.url);
  return { answer, calls: service.calls() };
}

const notOffered = `This server does not offer GET ${UPSTREAM.route}, or failed at it.`;

const refusals: [string, Told, string, string][] = [
  ["401", detail(401, "Invalid token."), "UNAUTHENTICATED", "Invalid token."],
  ["401 with a page", html(401), "UNAUTHENTICATED", "The service asks for a valid token."],
  [
    "403 that speaks of credentials",
    detail(403, "Authentication credentials were not provided."),
    "UNAUTHENTICATED",
    "Authentication credentials were not provided.",
  ],
  ["403 that speaks of a token", detail(403, "Token expired"), "UNAUTHENTICATED", "Token expired"],
  [
    "403 that speaks of an account",
    detail(403, "User inactive or deleted."),
    "UNAUTHENTICATED",
    "User inactive or deleted.",
  ],
  [
    "403 that speaks of a token and repeats it",
    detail(403, `Invalid token ${TOKEN}.`),
    "UNAUTHENTICATED",
    "The service asks for a valid token.",
  ],
  [
    "403 that speaks of credentials and of an address",
    detail(403, "Credentials were not provided, see http://db.internal/canary"),
    "UNAUTHENTICATED",
    "The service asks for a valid token.",
  ],
  [
    "403 that speaks of rights",
    detail(403, "You do not have permission to perform this action."),
    "FORBIDDEN",
    "You do not have permission to perform this action.",
  ],
  ["403 with a page", html(403), "FORBIDDEN", "The service does not allow this."],
  ["404 with an object", detail(404, "No such row."), "NOT_FOUND", "No such row."],
  ["404 with a bare string", json(404, "It is gone."), "NOT_FOUND", "It is gone."],
  ["404 with nothing", { status: 404, text: "" }, "NOT_FOUND", "Not found."],
  ["404 with a page", html(404), "UPSTREAM_UNSUPPORTED", notOffered],
  ["405 with an object", detail(405, 'Method "GET" not allowed.'), "UPSTREAM_UNSUPPORTED", notOffered],
  ["405 with nothing", html(405, ""), "UPSTREAM_UNSUPPORTED", notOffered],
  ["409", detail(409, "Already stopped."), "CONFLICT", "Already stopped."],
  ["409 with a page", html(409), "CONFLICT", "The record is in a state that does not allow this."],
  ["418", detail(418, "canary"), "UPSTREAM_ERROR", "The service answered 418."],
  [
    "429",
    detail(429, "Request was throttled."),
    "RATE_LIMITED",
    "The service allows no more requests for now.",
  ],
  ["500 with a page", html(500), "UPSTREAM_ERROR", "The service answered 500."],
  ["500 with an object", detail(500, "canary"), "UPSTREAM_ERROR", "The service answered 500."],
  ["502 with a page", html(502), "UPSTREAM_UNAVAILABLE", "The service is out of reach."],
  ["503 with nothing", { status: 503, text: "" }, "UPSTREAM_UNAVAILABLE", "The service is not ready."],
  ["504 with a page", html(504), "UPSTREAM_UNAVAILABLE", "The service is out of reach."],
];

describe("a refusal of the service becomes one error with a code, a message and the row that was asked", () => {
  test.each(refusals)("%s", async (_, told, code, message) => {
    const { answer, calls } = await askOf(told);
    expect(answer).toEqual(failure(code, message, { upstream: { ...UPSTREAM, status: told.status } }));
    expect(calls).toEqual([CALL]);
  });
});

const complaints: [string, unknown, string][] = [
  ["a detail", { detail: "Nonsense in the query." }, "Nonsense in the query."],
  [
    "the messages of a field",
    { query: ["Unknown key.", "Too long."] },
    "query: Unknown key. query: Too long.",
  ],
  [
    "the messages of nested fields",
    { config: { run: { cmd: ["This field is required."] }, version: ["Expected 1."] } },
    "config.run.cmd: This field is required. config.version: Expected 1.",
  ],
  ["messages of no field", { non_field_errors: ["Either this or that."] }, "Either this or that."],
  ["a list", ["Unknown key.", "Unknown value."], "Unknown key. Unknown value."],
  ["a bare string", "Unknown key.", "Unknown key."],
];

describe("what the service says of the input is passed on, in each of its shapes", () => {
  const cases = [400, 422].flatMap((status) => complaints.map((row) => [status, ...row] as const));
  test.each(cases)("%i with %s", async (status, _, body, message) => {
    const { answer } = await askOf(json(status, body));
    expect(answer).toEqual(failure("BAD_USER_INPUT", message, { upstream: { ...UPSTREAM, status } }));
  });
});

describe("what the service says is not passed on when it could tell of its inside", () => {
  test.each([
    ["a page", html(400)],
    ["a page inside JSON", detail(400, "<h1>canary</h1>")],
    ["a path", detail(400, "No such file: /srv/tracking/canary")],
    ["an address", detail(400, "http://db.internal:5432 canary")],
    ["a trace over several lines", detail(400, 'Traceback:\n  canary "views.py", line 7')],
    ["the token", detail(400, `canary ${TOKEN}`)],
    ["a long text", detail(400, "canary ".repeat(50))],
    ["text that is no JSON", { status: 400, text: "canary" }],
    ["nothing", { status: 400, text: "" }],
  ] satisfies [string, Told][])("%s", async (_, told) => {
    const { answer } = await askOf(told);
    expect(answer).toEqual(
      failure("BAD_USER_INPUT", "The service refused the input.", {
        upstream: { ...UPSTREAM, status: 400 },
      }),
    );
  });
});

describe("Retry-After is told in seconds", () => {
  const throttled = async (retryAfter: string) => {
    const { answer } = await askOf({ status: 429, json: {}, headers: { "retry-after": retryAfter } });
    return (answer as Answer<unknown>).errors?.[0]?.extensions;
  };

  test("from a number", async () => {
    expect(await throttled("3600")).toEqual({
      code: "RATE_LIMITED",
      requestId: "story-1",
      upstream: { ...UPSTREAM, status: 429 },
      retryAfterSeconds: 3600,
    });
  });

  test("from a date, counted from now", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 5, 1, 12) });
    onTestFinished(() => void vi.useRealTimers());
    expect(await throttled("Mon, 01 Jun 2026 13:00:30 GMT")).toHaveProperty("retryAfterSeconds", 3_630);
  });

  test("from a date that is over: at once", async () => {
    expect(await throttled("Wed, 21 Oct 2015 07:28:00 GMT")).toHaveProperty("retryAfterSeconds", 0);
  });

  test.each(["soon", "-5", "1.5", "later 5", "99999999999"])("not from %j", async (nonsense) => {
    expect(await throttled(nonsense)).not.toHaveProperty("retryAfterSeconds");
  });
});

test.each([301, 302, 303, 307, 308])("a redirect (%i) is not followed", async (status) => {
  const elsewhere = await startFake(() => ({ json: EXPERIMENT }));
  const { answer, calls } = await askOf({
    status,
    text: "",
    headers: { location: `${elsewhere.url}${PATH}` },
  });
  expect(answer).toEqual(
    failure("UPSTREAM_BAD_RESPONSE", "The service redirected, which is never followed.", {
      upstream: { ...UPSTREAM, status },
    }),
  );
  expect(calls).toEqual([CALL]);
  expect(elsewhere.calls()).toEqual([]);
});

const noJson = "The service's answer is no JSON.";
const noId = "The service's answer cannot be used: id is missing or of another type than documented.";
const noObject = "Expected a JSON object from the service, got something else.";

describe("an answer of 200 that is no record becomes an error", () => {
  test.each([
    ["nothing", { text: "" }, noJson],
    ["half a record", { text: '{"id": 42, "canary' }, noJson],
    ["a page", html(200), noJson],
    ["a list", { json: [EXPERIMENT] }, noObject],
    ["null", { json: null }, noObject],
    ["a string", { json: "canary" }, noObject],
    ["a record without an id", { json: { last_status: "running" } }, noId],
    ["a record whose id is text", { json: { ...EXPERIMENT, id: "42" } }, noId],
    ["a record whose id is a fraction", { json: { ...EXPERIMENT, id: 4.2 } }, noId],
  ] satisfies [string, Told, string][])("%s", async (_, told, message) => {
    const { answer, calls } = await askOf(told);
    expect(answer).toEqual(
      failure("UPSTREAM_BAD_RESPONSE", message, { upstream: { ...UPSTREAM, status: 200 } }),
    );
    expect(calls).toEqual([CALL]);
  });
});

test("NaN, Infinity and a byte order mark do not make an answer unreadable", async () => {
  const text = `\uFEFF{"id": 42, "last_status": "running", "last_metric": {"a": NaN, "b": -Infinity, "c": 1}}`;
  const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
  const { ask } = await startGateway({ upstream: service });
  expect(await ask(`{ experiment(id: "ada.mnist.42") { status lastMetric { name value raw } } }`)).toEqual({
    data: {
      experiment: {
        status: "RUNNING",
        lastMetric: [
          { name: "a", value: null, raw: null },
          { name: "b", value: null, raw: null },
          { name: "c", value: 1, raw: 1 },
        ],
      },
    },
  });
});

/** A record of so many bytes. */
const recordOf = (bytes: number) => {
  const bare = JSON.stringify({ ...EXPERIMENT, description: "" });
  return JSON.stringify({ ...EXPERIMENT, description: "x".repeat(bytes - bare.length) });
};
const asJson = (text: string | Buffer, encoding?: string): Told => ({
  text,
  headers: { "content-type": "application/json", ...(encoding ? { "content-encoding": encoding } : {}) },
});

test("an answer as long as the limit is read", async () => {
  expect((await askOf(asJson(recordOf(1_000)), { MAX_JSON_BYTES: "1000" })).answer).toEqual(RUNNING);
});

test.each([
  ["plain", asJson(recordOf(1_001))],
  ["compressed to less", asJson(gzipSync(recordOf(1_001)), "gzip")],
  ["compressed to a thousandth", asJson(gzipSync(recordOf(20_000_000)), "gzip")],
])("an answer longer than the limit is given up: %s", async (_, told) => {
  const { answer, calls } = await askOf(told, { MAX_JSON_BYTES: "1000" });
  expect(answer).toEqual(
    failure("UPSTREAM_BAD_RESPONSE", "The service's answer is longer than 1000 bytes.", {
      upstream: UPSTREAM,
    }),
  );
  expect(calls).toEqual([CALL]);
});

const record = JSON.stringify(EXPERIMENT);

test.each([
  ["gzip", gzipSync(record)],
  ["x-gzip", gzipSync(record)],
  ["deflate", deflateSync(record)],
  ["br", brotliCompressSync(record)],
  ["gzip, br", brotliCompressSync(gzipSync(record))],
  ["identity", record],
])("an answer in the encoding %s is read, although nobody asked for it", async (encoding, body) => {
  expect((await askOf(asJson(body, encoding))).answer).toEqual(RUNNING);
});

test.each([
  ["gzip", "text that was never compressed", record],
  ["gzip", "a part", gzipSync(recordOf(5_000)).subarray(0, -12)],
  ["gzip", "a damaged part", gzipSync(recordOf(5_000)).fill(7, 12, 30)],
  ["deflate", "text that was never compressed", record],
  ["br", "text that was never compressed", record],
])("an answer that says %s and is %s cannot be decoded", async (encoding, _, body) => {
  const { answer, calls } = await askOf(asJson(body, encoding));
  expect(answer).toEqual(
    failure("UPSTREAM_BAD_RESPONSE", "The service's answer cannot be decoded.", { upstream: UPSTREAM }),
  );
  expect(calls).toEqual([CALL]);
});

test("a refusal that arrives compressed is read too", async () => {
  const { answer } = await askOf({
    ...asJson(gzipSync(JSON.stringify({ detail: "Unknown key." })), "gzip"),
    status: 400,
  });
  expect(answer).toEqual(
    failure("BAD_USER_INPUT", "Unknown key.", { upstream: { ...UPSTREAM, status: 400 } }),
  );
});

test.each([
  ["in an encoding that nobody knows", "canary"],
  ["in an encoding that is a word of the language", "constructor"],
  ["in more encodings than anybody means", Array.from({ length: 20 }, () => "gzip").join(", ")],
])("an answer %s cannot be decoded", async (_, encoding) => {
  const { answer } = await askOf(asJson(record, encoding));
  expect(answer).toEqual(
    failure("UPSTREAM_BAD_RESPONSE", "The service's answer cannot be decoded.", { upstream: UPSTREAM }),
  );
});

test("a refusal that cannot be decoded keeps its code", async () => {
  const { answer } = await askOf({ ...asJson(PAGE, "gzip"), status: 409 });
  expect(answer).toEqual(
    failure("CONFLICT", "The record is in a state that does not allow this.", {
      upstream: { ...UPSTREAM, status: 409 },
    }),
  );
});

test("a service that nobody can connect to is UPSTREAM_UNAVAILABLE", async () => {
  const { ask, logged } = await startGateway({ upstream: { url: "http://127.0.0.1:1" }, token: TOKEN });
  const answer = await ask(ASK, {}, { headers: { "x-request-id": "story-1" } });
  expect(answer).toEqual(
    failure("UPSTREAM_UNAVAILABLE", "The service is out of reach.", { upstream: UPSTREAM }),
  );
  expect(JSON.stringify(answer)).not.toContain("ECONN");
  expect(JSON.stringify(answer) + logged()).not.toMatch(/127\.0\.0\.1|ada\/mnist|c4nary/);
  // The cause is for operators: its code, once, and nothing else of it.
  expect(logged().match(/"cause":"ECONNREFUSED","msg":"a request to the service failed"/g)).toHaveLength(1);
});

test("an answer that is no HTTP is UPSTREAM_BAD_RESPONSE", async () => {
  const url = await listen((request) => void request.socket.end("canary canary\r\n\r\n"));
  const { ask, logged } = await startGateway({ upstream: { url }, token: TOKEN });
  const answer = await ask(ASK, {}, { headers: { "x-request-id": "story-1" } });
  expect(answer).toEqual(
    failure("UPSTREAM_BAD_RESPONSE", "The service's answer cannot be decoded.", { upstream: UPSTREAM }),
  );
  expectNothingLeaked(answer, logged(), url);
});

describe("who asks", () => {
  test.each([
    ["no header", {}],
    ["another scheme", { authorization: "Basic YWRhOmFkYQ==" }],
    ["no scheme", { authorization: TOKEN }],
    ["no token", { authorization: "token " }],
    ["two tokens", { authorization: `token ${TOKEN} ${TOKEN}` }],
    ["a character that no token has", { authorization: `token ${TOKEN};` }],
    ["a token of 4,097 characters", { authorization: `token ${"x".repeat(4_097)}` }],
  ])("without a token that can be used nothing is sent: %s", async (_, headers) => {
    const service = await startRecords({ "ada/mnist/experiments/42/": EXPERIMENT });
    const { ask } = await startGateway({ upstream: service, token: null });
    const answer = await ask(ASK, {}, { headers: { ...headers, "x-request-id": "story-1" } });
    expect(answer).toEqual(
      failure(
        "UNAUTHENTICATED",
        "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
      ),
    );
    expect(service.calls()).toEqual([]);
  });

  test.each(["token", "TOKEN", "Bearer", "bearer", "Token  "])(
    "a token behind the word %j is sent behind the word `token`",
    async (scheme) => {
      const service = await startRecords({ "ada/mnist/experiments/42/": EXPERIMENT });
      const { ask } = await startGateway({ upstream: service, token: null });
      const headers = { authorization: `${scheme} ${TOKEN}` };
      expect(await ask(ASK, {}, { headers })).toEqual(RUNNING);
      expect(service.seen().map((seen) => seen.headers["authorization"])).toEqual([`token ${TOKEN}`]);
    },
  );

  test("of the caller's headers the service sees the token and the request id, and nothing else", async () => {
    const service = await startRecords({ "ada/mnist/experiments/42/": EXPERIMENT });
    const { ask } = await startGateway({ upstream: service, token: TOKEN });
    await ask(
      ASK,
      {},
      {
        headers: {
          "x-request-id": "story-1",
          cookie: "session=canary",
          origin: "http://canary.example",
          referer: "http://canary.example/page",
          "user-agent": "canary",
          "accept-encoding": "gzip",
          "accept-language": "de",
          "x-forwarded-for": "10.0.0.1",
          "x-forwarded-host": "canary.example",
          "x-api-key": "canary",
        },
      },
    );
    expect(service.seen()).toEqual([
      {
        method: "GET",
        path: PATH,
        body: "",
        headers: {
          accept: "application/json",
          authorization: `token ${TOKEN}`,
          "x-request-id": "story-1",
          host: new URL(service.url).host,
          connection: "keep-alive",
        },
      },
    ]);
  });
});

describe("the request id", () => {
  const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

  /** The request id of the answer's header, of its error, and of the request that the service saw. */
  async function idsOf(headers: Record<string, string>, query = ASK) {
    const service = await startFake(() => undefined);
    const { url } = await startGateway({ upstream: service });
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `token ${TOKEN}`, ...headers },
      body: JSON.stringify({ query }),
    });
    const { errors } = (await response.json()) as Answer<unknown>;
    return [
      response.headers.get("x-request-id"),
      errors?.[0]?.extensions["requestId"],
      ...service.seen().map((seen) => seen.headers["x-request-id"]),
    ];
  }

  test.each(["story-1", "8f14e45f-ceea-467f-a8f0-1c2d3e4f5a6b", "a.b:c_d", "x".repeat(128)])(
    "of the caller is kept: %s",
    async (id) => {
      expect(await idsOf({ "x-request-id": id })).toEqual([id, id, id]);
    },
  );

  test.each([
    ["none", {}],
    ["an empty one", { "x-request-id": "" }],
    ["one with a blank", { "x-request-id": "a b" }],
    ["one with a quote", { "x-request-id": 'a"b' }],
    ["one of 129 characters", { "x-request-id": "x".repeat(129) }],
  ])("is a new UUID when the caller sends %s", async (_, headers) => {
    const ids = await idsOf(headers);
    expect(ids[0]).toMatch(UUID);
    expect(ids).toEqual([ids[0], ids[0], ids[0]]);
  });

  test.each(["{ experiment(", "{ nothing }"])(
    "is also in the errors of an operation that cannot be run: %s",
    async (query) => {
      expect(await idsOf({ "x-request-id": "story-1" }, query)).toEqual(["story-1", "story-1"]);
    },
  );
});

/** A service whose n-th answer is the n-th of these; the last one stays. */
async function startSequence(...answers: Told[]) {
  let asked = 0;
  return startFake(() => answers[Math.min(asked++, answers.length - 1)]);
}

describe("a read is tried again", () => {
  test.each([502, 503, 504])("when the service answers %i once", async (status) => {
    const service = await startSequence(html(status), { json: EXPERIMENT });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK)).toEqual(RUNNING);
    expect(service.calls()).toEqual([CALL, CALL]);
  });

  test("twice and no more", async () => {
    const service = await startSequence(html(503));
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK, {}, { headers: { "x-request-id": "story-1" } })).toEqual(
      failure("UPSTREAM_UNAVAILABLE", "The service is not ready.", {
        upstream: { ...UPSTREAM, status: 503 },
      }),
    );
    expect(service.calls()).toEqual([CALL, CALL, CALL]);
  });

  test.each([400, 401, 403, 404, 409, 429, 500])("never when it answers %i", async (status) => {
    const service = await startSequence({ status, json: {} }, { json: EXPERIMENT });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK)).toHaveProperty("data", { experiment: null });
    expect(service.calls()).toEqual([CALL]);
  });

  test("not when the service asks for more patience than the gateway has", async () => {
    const later = { status: 503, json: {}, headers: { "retry-after": "3600" } };
    const service = await startSequence(later, { json: EXPERIMENT });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK, {}, { headers: { "x-request-id": "story-1" } })).toEqual(
      failure("UPSTREAM_UNAVAILABLE", "The service is not ready.", {
        upstream: { ...UPSTREAM, status: 503 },
        retryAfterSeconds: 3600,
      }),
    );
    expect(service.calls()).toEqual([CALL]);
  });

  test("when the service asks for a short patience", async () => {
    const soon = { status: 503, json: {}, headers: { "retry-after": "1" } };
    const service = await startSequence(soon, { json: EXPERIMENT });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK)).toEqual(RUNNING);
    expect(service.calls()).toEqual([CALL, CALL]);
  });

  test("once, after the time that a throttling service asks for", async () => {
    const throttled = { status: 429, json: {}, headers: { "retry-after": "1" } };
    const service = await startSequence(throttled, { json: EXPERIMENT });
    const { ask } = await startGateway({ upstream: service });
    expect(await ask(ASK)).toEqual(RUNNING);
    expect(service.calls()).toEqual([CALL, CALL]);
  });

  test("but no second time when the service throttles again", async () => {
    const service = await startSequence({ status: 429, json: {}, headers: { "retry-after": "1" } });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK, {}, { headers: { "x-request-id": "story-1" } })).toEqual(
      failure("RATE_LIMITED", "The service allows no more requests for now.", {
        upstream: { ...UPSTREAM, status: 429 },
        retryAfterSeconds: 1,
      }),
    );
    expect(service.calls()).toEqual([CALL, CALL]);
  });

  const whole = gzipSync(recordOf(5_000));
  test.each([
    ["before its answer", null, {}],
    ["in the middle of its answer", record.slice(0, 9), {}],
    ["in the middle of a compressed answer", whole.subarray(0, 30), { "content-encoding": "gzip" }],
  ])("when the connection breaks %s", async (_, part, headers) => {
    let asked = 0;
    const url = await listen((_request, response) => {
      if (++asked > 1) return void response.end(record);
      if (part === null) return void response.destroy();
      response.writeHead(200, { ...headers, "content-length": 5_000 });
      response.write(part, () => response.destroy());
    });
    const { ask } = await startGateway({ upstream: { url }, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK)).toEqual(RUNNING);
    expect(asked).toBe(2);
  });
});

test("a connection that breaks in the middle of every answer is UPSTREAM_UNAVAILABLE", async () => {
  const url = await listen((_, response) => {
    response.writeHead(200, { "content-length": 5_000 });
    response.write("canary", () => response.destroy());
  });
  const { ask, logged } = await startGateway({ upstream: { url }, token: TOKEN });
  const answer = await ask(ASK, {}, { headers: { "x-request-id": "story-1" } });
  expect(answer).toEqual(
    failure("UPSTREAM_UNAVAILABLE", "The service is out of reach.", { upstream: UPSTREAM }),
  );
  expectNothingLeaked(answer, logged(), url);
});

describe("a service that never answers is UPSTREAM_TIMEOUT", () => {
  const late = "The service did not answer in time.";

  test.each([
    ["the time for the beginning of its answer", "UPSTREAM_HEADERS_TIMEOUT_MS"],
    ["the time for its answer", "UPSTREAM_TIMEOUT_MS"],
  ])("when %s is over", async (_, setting) => {
    await withDeadline(async (deadlineMs) => {
      let asked = 0;
      const gone = gate();
      const url = await listen((_request, response) => {
        asked++;
        response.on("close", gone.open);
      });
      const env = { [setting]: `${deadlineMs}` };
      const { ask, logged } = await startGateway({ upstream: { url }, token: TOKEN, env });
      const answer = await ask(ASK, {}, { headers: { "x-request-id": "story-1" } });
      expect(asked).toBe(1);
      expect(answer).toEqual(failure("UPSTREAM_TIMEOUT", late, { upstream: UPSTREAM }));
      await gone.opened;
      expectNothingLeaked(answer, logged(), url);
    });
  });

  test("also when it begins an answer and does not end it", async () => {
    await withDeadline(async (deadlineMs) => {
      let asked = 0;
      const gone = gate();
      const url = await listen((_, response) => {
        asked++;
        response.on("close", gone.open);
        response.write('{"id"');
      });
      const env = { UPSTREAM_TIMEOUT_MS: `${deadlineMs}` };
      const { ask } = await startGateway({ upstream: { url }, env });
      expect(await ask(ASK, {}, { headers: { "x-request-id": "story-1" } })).toEqual(
        failure("UPSTREAM_TIMEOUT", late, { upstream: UPSTREAM }),
      );
      expect(asked).toBe(1);
      await gone.opened;
    });
  });

  test("when the time of the whole request is over: what was had is returned, what waits is not sent", async () => {
    await withDeadline(async (deadlineMs) => {
      const gone = gate();
      const seen: (string | undefined)[] = [];
      const url = await listen((request, response) => {
        seen.push(request.url);
        if (request.url?.endsWith("/1/")) return void response.end(`{"id": 1, "last_status": "running"}`);
        response.on("close", gone.open);
      });
      const { ask } = await startGateway({
        upstream: { url },
        env: { REQUEST_TIMEOUT_MS: `${deadlineMs}`, MAX_UPSTREAM_WIDTH: "1" },
      });
      const answer = await ask<unknown, unknown>(`{
      had: experiment(id: "ada.mnist.1") { status }
      hanging: experiment(id: "ada.mnist.2") { status }
      waiting: experiment(id: "ada.mnist.3") { status }
    }`);
      expect(answer.data).toEqual({ had: { status: "RUNNING" }, hanging: null, waiting: null });
      const told = answer.errors?.map(
        ({ path, extensions }) => `${path?.join(".")}: ${String(extensions["code"])}`,
      );
      expect(told?.toSorted()).toEqual(["hanging: UPSTREAM_TIMEOUT", "waiting: UPSTREAM_TIMEOUT"]);
      expect(seen).toEqual(["/api/v1/ada/mnist/experiments/1/", "/api/v1/ada/mnist/experiments/2/"]);
      await gone.opened;
    });
  });
});

test("when the caller leaves, the running request is given up and no further one is sent", async () => {
  const arrived = gate();
  const gone = gate();
  const seen: (string | undefined)[] = [];
  const url = await listen((request, response) => {
    seen.push(request.url);
    if (request.url?.endsWith("/9/")) return void response.end(`{"id": 9, "last_status": "running"}`);
    response.on("close", gone.open);
    arrived.open();
  });
  const gateway = await startGateway({
    upstream: { url },
    env: {
      MAX_UPSTREAM_WIDTH: "1",
      UPSTREAM_RETRIES: "2",
    },
  });
  const leaving = new AbortController();
  const asked = fetch(`${gateway.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `token ${TOKEN}` },
    body: JSON.stringify({
      query: `{ a: experiment(id: "ada.mnist.1") { status } b: experiment(id: "ada.mnist.2") { status } }`,
    }),
    signal: leaving.signal,
  });
  await arrived.opened;
  leaving.abort();
  await expect(asked).rejects.toThrow("aborted");
  await gone.opened;
  expect(await gateway.ask(`{ experiment(id: "ada.mnist.9") { status } }`)).toEqual(RUNNING);
  expect(seen).toEqual(["/api/v1/ada/mnist/experiments/1/", "/api/v1/ada/mnist/experiments/9/"]);
  expect(gateway.logged()).not.toContain("unexpected");
});

test("an operation that needs more requests than one may cause gets what its budget buys", async () => {
  const service = await startRecords({
    "ada/mnist/experiments/1/": { id: 1, last_status: "running" },
    "ada/mnist/experiments/2/": { id: 2, last_status: "failed" },
    "ada/mnist/experiments/3/": { id: 3, last_status: "created" },
  });
  const { ask } = await startGateway({ upstream: service, env: { MAX_UPSTREAM_REQUESTS: "2" } });
  const answer = await ask(
    `{
      a: experiment(id: "ada.mnist.1") { status }
      b: experiment(id: "ada.mnist.2") { status }
      c: experiment(id: "ada.mnist.3") { status }
    }`,
    {},
    { headers: { "x-request-id": "story-1" } },
  );
  expect(answer).toEqual({
    data: { a: { status: "RUNNING" }, b: { status: "FAILED" }, c: null },
    errors: [
      {
        message: "This operation needs more than 2 requests to the service; ask for less at once.",
        locations: [{ line: 4, column: 7 }],
        path: ["c"],
        extensions: { code: "REQUEST_LIMIT_EXCEEDED", unsentRequests: 1, requestId: "story-1" },
      },
    ],
  });
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/2/"]);
});

describe("the depth of an operation", () => {
  const env = { MAX_DEPTH: "3" };

  test.each([
    ["plain", `{ experiment(id: "ada.mnist.42") { project { name } } }`],
    ["by an inline fragment", `{ experiment(id: "ada.mnist.42") { ... on Run { project { name } } } }`],
    [
      "by a named fragment",
      `{ experiment(id: "ada.mnist.42") { ...P } } fragment P on Experiment { project { name } }`,
    ],
  ])("may be the limit: %s", async (_, query) => {
    const service = await startRecords({ "ada/mnist/experiments/42/": EXPERIMENT });
    const { ask } = await startGateway({ upstream: service, env });
    expect(await ask(query)).toEqual({ data: { experiment: { project: { name: "mnist" } } } });
  });

  test.each([
    ["plain", `{ experiment(id: "ada.mnist.42") { project { owner { username } } } }`],
    [
      "by an inline fragment",
      `{ experiment(id: "ada.mnist.42") { project { ... on Project { owner { id } } } } }`,
    ],
    [
      "by a named fragment",
      `{ experiment(id: "ada.mnist.42") { ...P } } fragment P on Experiment { project { owner { id } } }`,
    ],
  ])("may not be more: %s", async (_, query) => {
    const service = await startRecords({ "ada/mnist/experiments/42/": EXPERIMENT });
    const { ask } = await startGateway({ upstream: service, env });
    const { data, errors } = await ask<unknown, unknown>(query);
    expect(data ?? null).toBeNull();
    expect(errors?.map(({ message, extensions }) => [message, extensions["code"]])).toEqual([
      ["Expected an operation at most 3 fields deep, got a deeper one.", "OPERATION_TOO_DEEP"],
    ]);
    expect(service.calls()).toEqual([]);
  });

  test("is no hindrance to introspection", async () => {
    const { ask } = await startGateway({ upstream: await startRecords({}), env });
    expect(await ask(getIntrospectionQuery())).toHaveProperty("data.__schema.types");
  });

  test("of a fragment that contains itself is an error, not a fall without end", async () => {
    const { ask } = await startGateway({ upstream: await startRecords({}), env });
    const { data, errors } = await ask<unknown, unknown>(
      `{ experiment(id: "ada.mnist.42") { ...A } } fragment A on Experiment { original { ...A } }`,
    );
    expect(data ?? null).toBeNull();
    expect(errors?.map(({ extensions }) => extensions["code"])).toContain("GRAPHQL_VALIDATION_FAILED");
  });
});

describe("an exception that nobody foresaw is masked and logged", () => {
  test.each(["development", "test", "production"])("with NODE_ENV %s", async (environment) => {
    vi.stubEnv("NODE_ENV", environment);
    onTestFinished(() => void vi.unstubAllEnvs());
    // A log that fails at the first warning stands for any slip of our own.
    const lines: string[] = [];
    const log = pino(
      {
        base: null,
        hooks: {
          logMethod(args, method, level) {
            if (level === pino.levels.values["warn"]) throw new TypeError("canary at 10.0.0.1:5432");
            method.apply(this, args);
          },
        },
      },
      { write: (line: string) => void lines.push(line) },
    );
    const service = await startRecords({ "ada/mnist/experiments/42/": { ...EXPERIMENT, name: 7 } });
    const gateway = createGateway({
      config: readConfig({ ...NO_DEADLINES }),
      upstreamUrl: new URL(service.url),
      log,
    });
    onTestFinished(() => gateway.close());
    const response = await fetch(`${await listen(gateway.handle)}/graphql`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `token ${TOKEN}`,
        "x-request-id": "story-1",
      },
      body: JSON.stringify({ query: ASK }),
    });
    expect(await response.json()).toEqual(
      failure("INTERNAL_SERVER_ERROR", "Something went wrong in the gateway."),
    );
    const line = lines.find((each) => each.includes("unexpected error"));
    expect(JSON.parse(line ?? "")).toEqual({
      level: 50,
      time: expect.any(Number),
      error: "TypeError",
      field: "experiment",
      at: expect.arrayContaining([expect.stringMatching(/^src\/gateway\.ts:\d+:\d+$/)]),
      msg: "unexpected error",
    });
    expectNothingLeaked({}, lines.join(""), service.url);
    expect(lines.join("")).not.toContain(process.cwd());
  });
});
