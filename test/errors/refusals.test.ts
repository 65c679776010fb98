import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Told } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import {
  ASK_STATUS,
  askOf,
  failedStatus,
  jsonText,
  RECORD_TEXT,
  recordTextOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  SECRET_TOKEN,
  STATUS_CALL,
  STATUS_UPSTREAM,
} from "../support/one-read.ts";
import { detail, html, json, PAGE } from "../support/replies.ts";

/* What callers read of an answer of the service; which codes there are for which operation tells the fault matrix. */

const ASKS = "The service asks for a valid token.";
const INACTIVE = "User inactive or deleted.";
const NO_CREDENTIALS = "Authentication credentials were not provided.";
const NO_RIGHTS = "You do not have permission to perform this action.";
const NOT_OFFERED = `This server does not offer GET ${STATUS_UPSTREAM.route}, or failed at it.`;
const LOCKED = "The record is in a state that does not allow this.";

describe("a refusal of the service becomes one error with a code, a message and the row that was asked:", () => {
  test.each<[Told, string, string]>([
    [detail(401, "Invalid token."), "UNAUTHENTICATED", "Invalid token."],
    [html(401), "UNAUTHENTICATED", ASKS],
    [detail(403, NO_CREDENTIALS), "UNAUTHENTICATED", NO_CREDENTIALS],
    [detail(403, "Token expired"), "UNAUTHENTICATED", "Token expired"],
    [detail(403, INACTIVE), "UNAUTHENTICATED", INACTIVE],
    [detail(403, `Invalid token ${SECRET_TOKEN}.`), "UNAUTHENTICATED", ASKS],
    [detail(403, "No credentials, see http://db.internal/canary"), "UNAUTHENTICATED", ASKS],
    [detail(403, NO_RIGHTS), "FORBIDDEN", NO_RIGHTS],
    [html(403), "FORBIDDEN", "The service does not allow this."],
    [detail(404, "No such row."), "NOT_FOUND", "No such row."],
    [json(404, "It is gone."), "NOT_FOUND", "It is gone."],
    [{ status: 404, text: "" }, "NOT_FOUND", "Not found: ada.mnist.experiments.42."],
    [html(404), "UPSTREAM_UNSUPPORTED", NOT_OFFERED],
    [detail(405, 'Method "GET" not allowed.'), "UPSTREAM_UNSUPPORTED", NOT_OFFERED],
    [detail(409, "Already stopped."), "CONFLICT", "Already stopped."],
    [html(409), "CONFLICT", LOCKED],
    [
      { ...jsonText(gzipSync('{"detail": "It is locked."}'), "gzip"), status: 409 },
      "CONFLICT",
      "It is locked.",
    ],
    // It cannot be decoded.
    [{ ...jsonText(PAGE, "gzip"), status: 409 }, "CONFLICT", LOCKED],
    [detail(429, "Request was throttled."), "RATE_LIMITED", "The service allows no more requests for now."],
    [detail(500, "canary"), "UPSTREAM_ERROR", "The service answered 500."],
    [{ status: 503, text: "" }, "UPSTREAM_UNAVAILABLE", "The service is not ready."],
    [html(504), "UPSTREAM_UNAVAILABLE", "The service is out of reach."],
  ])("%.80j", async (told, code, message) => {
    const { answer, calls } = await askOf(told);
    expect(answer).toEqual(
      failedStatus(code, message, { upstream: { ...STATUS_UPSTREAM, status: told.status } }),
    );
    expect(calls).toEqual([STATUS_CALL]);
  });
});

describe("what the service says of the input is passed on, in each of its shapes:", () => {
  const nested = { config: { run: { cmd: ["It is required."] }, version: ["Expected 1."] } };

  test.each<[number, unknown, string]>([
    [400, { detail: "Nonsense in the query." }, "Nonsense in the query."],
    [400, { query: ["Unknown key.", "Too long."] }, "query: Unknown key. query: Too long."],
    [400, nested, "config.run.cmd: It is required. config.version: Expected 1."],
    [400, { non_field_errors: ["Either this or that."] }, "Either this or that."],
    [400, ["Unknown key.", "Unknown value."], "Unknown key. Unknown value."],
    [422, "Unknown key.", "Unknown key."],
  ])("%i with %j", async (status, body, message) => {
    const { answer } = await askOf(json(status, body));
    expect(answer).toEqual(
      failedStatus("BAD_USER_INPUT", message, { upstream: { ...STATUS_UPSTREAM, status } }),
    );
  });
});

describe("what the service says is not passed on when it could tell of its inside:", () => {
  test.each<[string, Told]>([
    ["a page", html(400)],
    ["a page inside JSON", detail(400, "<h1>canary</h1>")],
    ["a path", detail(400, "No such file: /srv/tracking/canary")],
    ["an address", detail(400, "http://db.internal:5432 canary")],
    ["a trace over several lines", detail(400, 'Traceback:\n  canary "views.py", line 7')],
    ["the token", detail(400, `canary ${SECRET_TOKEN}`)],
    ["a long text", detail(400, "canary ".repeat(50))],
    ["text that is no JSON", { status: 400, text: "canary" }],
    ["nothing", { status: 400, text: "" }],
  ])("%s", async (_, told) => {
    const { answer } = await askOf(told);
    const facts = { upstream: { ...STATUS_UPSTREAM, status: 400 } };
    expect(answer).toEqual(failedStatus("BAD_USER_INPUT", "The service refused the input.", facts));
  });
});

describe("Retry-After is told in seconds", () => {
  test.each<[string, number?]>([
    ["240", 240],
    ["Mon, 01 Jun 2026 12:00:30 GMT", 30],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
    ["301", 300],
    ["Fri, 01 Jan 2100 00:00:00 GMT", 300],
    ["soon"],
    ["-5"],
    ["1.5"],
    ["99999999999"],
  ])("from a number or a date, 5 minutes at most: %j is %s", async (retryAfter, seconds) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 5, 1, 12) });
    onTestFinished(() => void vi.useRealTimers());
    const { answer } = await askOf({ status: 503, json: {}, headers: { "retry-after": retryAfter } });
    expect((answer as Answer<unknown>).errors?.[0]?.extensions["retryAfterSeconds"]).toBe(seconds);
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
  expect(JSON.stringify(answer) + logged()).not.toMatch(/127\.0\.0\.1|ada\/mnist|c4nary/);
  // The cause is for operators: its code, once, and nothing else of it.
  expect(logged().match(/"cause":"ECONNREFUSED","msg":"a request to the service failed"/g)).toHaveLength(1);
});

const LIMIT = { MAX_JSON_BYTES: "1000" };

test.each([
  ["x-gzip", gzipSync(RECORD_TEXT)],
  ["GZIP", gzipSync(RECORD_TEXT)],
  ["gzip, gzip", gzipSync(gzipSync(RECORD_TEXT))],
  ["deflate", deflateSync(RECORD_TEXT)],
  ["gzip, br", brotliCompressSync(gzipSync(RECORD_TEXT))],
  ["identity", recordTextOf(1_000)],
])("an answer in the encoding %s is read, although nobody asked for it", async (encoding, body) => {
  expect((await askOf(jsonText(body, encoding), LIMIT)).answer).toEqual(RUNNING_ANSWER);
});

const NO_ID = "The service's answer cannot be used: id is missing or of another type than documented.";
const NO_OBJECT = "Expected a JSON object from the service, got something else.";
const TOO_LONG = "The service's answer is longer than 1000 bytes.";
const UNDECODED = "The service's answer cannot be decoded.";
const PART = gzipSync(recordTextOf(900));

test.each<[string, Told, string, number | null]>([
  ["half a record", { text: '{"id": 42, "canary' }, "The service's answer is no JSON.", 200],
  ["a list", { json: [RUNNING_RECORD] }, NO_OBJECT, 200],
  ["null", { json: null }, NO_OBJECT, 200],
  ["a record without an id", { json: { last_status: "running" } }, NO_ID, 200],
  ["a record whose id is text", { json: { ...RUNNING_RECORD, id: "42" } }, NO_ID, 200],
  ["a record whose id is a fraction", { json: { ...RUNNING_RECORD, id: 4.2 } }, NO_ID, 200],
  ["a record beyond MAX_JSON_BYTES", jsonText(recordTextOf(1_001)), TOO_LONG, null],
  ["one that is compressed to less", jsonText(gzipSync(recordTextOf(1_001)), "gzip"), TOO_LONG, null],
  ["a part of gzip", jsonText(PART.subarray(0, -12), "gzip"), UNDECODED, null],
  ["damaged gzip", jsonText(Buffer.from(PART).fill(7, 12, 30), "gzip"), UNDECODED, null],
  ["deflate that was never compressed", jsonText(RECORD_TEXT, "deflate"), UNDECODED, null],
  ["in an encoding that nobody knows", jsonText(RECORD_TEXT, "constructor"), UNDECODED, null],
  ["compressed three times", jsonText(gzipSync(gzipSync(PART)), "gzip, gzip, gzip"), UNDECODED, null],
])("an answer of 200 that is %s is UPSTREAM_BAD_RESPONSE", async (_, told, message, status) => {
  const { answer, calls } = await askOf(told, LIMIT);
  const upstream = { ...STATUS_UPSTREAM, ...(status !== null && { status }) };
  expect(answer).toEqual(failedStatus("UPSTREAM_BAD_RESPONSE", message, { upstream }));
  expect(calls).toEqual([STATUS_CALL]);
});
