import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Told } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import {
  ASK_STATUS,
  askOf,
  failedStatus,
  SECRET_TOKEN,
  STATUS_CALL,
  STATUS_PATH,
  STATUS_UPSTREAM,
} from "../support/one-read.ts";
import { detail, html, json } from "../support/replies.ts";

const notOffered = `This server does not offer GET ${STATUS_UPSTREAM.route}, or failed at it.`;

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
    detail(403, `Invalid token ${SECRET_TOKEN}.`),
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
  ["404 with nothing", { status: 404, text: "" }, "NOT_FOUND", "Not found: ada.mnist.experiments.42."],
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
  ...[301, 302, 303, 307, 308].map((status): [string, Told, string, string] => [
    `a redirect with ${status}`,
    { status, text: "", headers: { location: `http://127.0.0.1:1${STATUS_PATH}` } },
    "UPSTREAM_BAD_RESPONSE",
    "The service redirected, which is never followed.",
  ]),
];

describe("a refusal of the service becomes one error with a code, a message and the row that was asked", () => {
  test.each(refusals)("%s", async (_, told, code, message) => {
    const { answer, calls } = await askOf(told);
    expect(answer).toEqual(
      failedStatus(code, message, { upstream: { ...STATUS_UPSTREAM, status: told.status } }),
    );
    expect(calls).toEqual([STATUS_CALL]);
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
    expect(answer).toEqual(
      failedStatus("BAD_USER_INPUT", message, { upstream: { ...STATUS_UPSTREAM, status } }),
    );
  });
});

describe("what the service says is not passed on when it could tell of its inside", () => {
  test.each([
    ["a page", html(400)],
    ["a page inside JSON", detail(400, "<h1>canary</h1>")],
    ["a path", detail(400, "No such file: /srv/tracking/canary")],
    ["an address", detail(400, "http://db.internal:5432 canary")],
    ["a trace over several lines", detail(400, 'Traceback:\n  canary "views.py", line 7')],
    ["the token", detail(400, `canary ${SECRET_TOKEN}`)],
    ["a long text", detail(400, "canary ".repeat(50))],
    ["text that is no JSON", { status: 400, text: "canary" }],
    ["nothing", { status: 400, text: "" }],
  ] satisfies [string, Told][])("%s", async (_, told) => {
    const { answer } = await askOf(told);
    expect(answer).toEqual(
      failedStatus("BAD_USER_INPUT", "The service refused the input.", {
        upstream: { ...STATUS_UPSTREAM, status: 400 },
      }),
    );
  });
});

describe("Retry-After is told in seconds", () => {
  const refused = async (retryAfter: string) => {
    const { answer } = await askOf({ status: 503, json: {}, headers: { "retry-after": retryAfter } });
    return (answer as Answer<unknown>).errors?.[0]?.extensions;
  };

  test.each([
    ["240", 240],
    ["Mon, 01 Jun 2026 12:00:30 GMT", 30],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
    ["301", 300],
    ["999999999", 300],
    ["Fri, 01 Jan 2100 00:00:00 GMT", 300],
  ])("from a number or a date, 5 minutes at most: %s", async (retryAfter, seconds) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 5, 1, 12) });
    onTestFinished(() => void vi.useRealTimers());
    expect(await refused(retryAfter)).toHaveProperty("retryAfterSeconds", seconds);
  });

  test.each(["soon", "-5", "1.5", "later 5", "99999999999"])("not from %j", async (nonsense) => {
    expect(await refused(nonsense)).not.toHaveProperty("retryAfterSeconds");
  });
});

test("a service that nobody can connect to is UPSTREAM_UNAVAILABLE", async () => {
  const { ask, logged } = await startGateway({
    upstream: { url: "http://127.0.0.1:1" },
    token: SECRET_TOKEN,
  });
  const answer = await ask(ASK_STATUS, {}, { headers: { "x-request-id": "story-1" } });
  expect(answer).toEqual(
    failedStatus("UPSTREAM_UNAVAILABLE", "The service is out of reach.", { upstream: STATUS_UPSTREAM }),
  );
  expect(JSON.stringify(answer)).not.toContain("ECONN");
  expect(JSON.stringify(answer) + logged()).not.toMatch(/127\.0\.0\.1|ada\/mnist|c4nary/);
  // The cause is for operators: its code, once, and nothing else of it.
  expect(logged().match(/"cause":"ECONNREFUSED","msg":"a request to the service failed"/g)).toHaveLength(1);
});
