import type { ServerResponse } from "node:http";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startFake, type FakeResponse } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import {
  ASK_STATUS,
  askFor,
  askOf,
  failedStatus,
  firstCodeOf,
  jsonText,
  RECORD_TEXT,
  recordTextOf,
  RUNNING_ANSWER,
  STATUS_CALL,
  STATUS_UPSTREAM,
} from "../support/one-read.ts";
import { PAGE } from "../support/replies.ts";
import retryAfters from "./retry-after.json" with { type: "json" };
import refusals from "./refusals.json" with { type: "json" };

/* The errors that callers receive for a response of the service. The fault matrix lists the codes of each operation. */

interface Refusal {
  readonly reported: FakeResponse;
  readonly code: string;
  readonly message: string;
}

// Safe: the file has nothing else.
const REFUSALS = Object.entries(refusals as unknown as Readonly<Record<string, readonly Refusal[]>>);

async function expectRefused({ reported, code, message }: Refusal): Promise<void> {
  const { answer, calls } = await askOf(reported);
  const details = { upstream: { ...STATUS_UPSTREAM, status: reported.status } };
  expect(answer).toEqual(failedStatus(code, message, details));
  expect(calls).toEqual([STATUS_CALL]);
}

describe.each(REFUSALS)("%s:", (_, rows) => {
  test.each(rows)("%.80j", expectRefused);
});

const REFUSED = "The service refused the input.";

const inBrackets = (levels: number): unknown =>
  JSON.parse(`${"[".repeat(levels)}"deep"${"]".repeat(levels)}`);
const refused = (json: unknown, message = REFUSED): Refusal => ({
  reported: { status: 400, json },
  code: "BAD_USER_INPUT",
  message,
});

test.each([
  refused([...Array<string>(99).fill(""), "late"], "late"),
  refused([...Array<string>(100).fill(""), "late"]),
  refused(inBrackets(8), "deep"),
  refused(inBrackets(9)),
])("error bodies are read up to 100 strings and eight levels: %.30j", expectRefused);

const compressed = (text: string | Buffer, message: string): Refusal => ({
  reported: { ...jsonText(text, "gzip"), status: 409 },
  code: "CONFLICT",
  message,
});

test.each([
  compressed(gzipSync('{"detail": "It is locked."}'), "It is locked."),
  // This body cannot be decoded.
  compressed(PAGE, "The record is in a state that does not allow this."),
])("an error response labelled gzip gives the message: $message", expectRefused);

test.each(retryAfters)(
  "converts Retry-After $retryAfter to $seconds seconds if Date is $date",
  async ({ date, retryAfter, seconds }) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 5, 1, 12) });
    onTestFinished(() => void vi.useRealTimers());
    const service = await startFake(() => (response: ServerResponse) => {
      response.sendDate = false;
      response.writeHead(503, { "retry-after": retryAfter, ...(date && { date }) }).end();
    });
    const { ask } = await startGateway({ upstream: service });
    const { errors } = await ask<unknown, object>(ASK_STATUS);
    expect(errors?.[0]?.extensions["retryAfterSeconds"]).toBe(seconds);
  },
);

const LIMIT = { MAX_JSON_BYTES: "1000" };

test.each([
  ["x-gzip", gzipSync(RECORD_TEXT)],
  ["GZIP", gzipSync(RECORD_TEXT)],
  ["deflate", deflateSync(RECORD_TEXT)],
  ["identity", recordTextOf(1_000)],
])("reads a response encoded as %s although this coding was not requested", async (encoding, body) => {
  expect((await askOf(jsonText(body, encoding), LIMIT)).answer).toEqual(RUNNING_ANSWER);
});

const TOO_LONG = "The service's answer is longer than 1000 bytes.";
const UNDECODED = "The service's response cannot be decoded.";
const LONG_GZIP = gzipSync(recordTextOf(1_001));
const PART = gzipSync(recordTextOf(900));

test.each([
  ["a record beyond MAX_JSON_BYTES", jsonText(recordTextOf(1_001)), TOO_LONG],
  ["a record beyond MAX_JSON_BYTES, compressed to less", jsonText(LONG_GZIP, "gzip"), TOO_LONG],
  ["compressed with an unusual coding", jsonText(brotliCompressSync(RECORD_TEXT), "br"), UNDECODED],
  ["incomplete gzip", jsonText(PART.subarray(0, -12), "gzip"), UNDECODED],
  ["damaged gzip", jsonText(Buffer.from(PART).fill(7, 12, 30), "gzip"), UNDECODED],
  ["deflate that was never compressed", jsonText(RECORD_TEXT, "deflate"), UNDECODED],
  ["in an unknown encoding", jsonText(RECORD_TEXT, "constructor"), UNDECODED],
  ["compressed twice", jsonText(gzipSync(PART), "gzip, gzip"), UNDECODED],
])("a 200 response that is %s returns UPSTREAM_BAD_RESPONSE", async (_, reported, message) => {
  const { answer, calls } = await askOf(reported, LIMIT);
  expect(answer).toEqual(failedStatus("UPSTREAM_BAD_RESPONSE", message, { upstream: STATUS_UPSTREAM }));
  expect(calls).toEqual([STATUS_CALL]);
});

test("releases the memory of a response that was too long", async () => {
  const env = { MAX_JSON_BYTES: "1000000", MAX_UPSTREAM_BYTES: "1500000" };
  const gateway = await startBefore(() => jsonText(recordTextOf(1_100_000)), env);
  const codes = [await askFor(gateway), await askFor(gateway)].map(firstCodeOf);
  expect(codes).toEqual(["UPSTREAM_BAD_RESPONSE", "UPSTREAM_BAD_RESPONSE"]);
});
