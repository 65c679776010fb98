import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startFake, type Told } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import {
  askOf,
  failedStatus,
  jsonText,
  RECORD_TEXT,
  recordTextOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  STATUS_CALL,
  STATUS_UPSTREAM,
} from "../support/one-read.ts";
import { html, PAGE } from "../support/replies.ts";

const LIMIT = { MAX_JSON_BYTES: "1000" };

test.each([
  ["gzip", gzipSync(RECORD_TEXT)],
  ["x-gzip", gzipSync(RECORD_TEXT)],
  ["GZIP", gzipSync(RECORD_TEXT)],
  ["gzip, gzip", gzipSync(gzipSync(RECORD_TEXT))],
  ["deflate", deflateSync(RECORD_TEXT)],
  ["br", brotliCompressSync(RECORD_TEXT)],
  ["gzip, br", brotliCompressSync(gzipSync(RECORD_TEXT))],
  ["identity", recordTextOf(1_000)],
])("an answer in the encoding %s is read, although nobody asked for it", async (encoding, body) => {
  expect((await askOf(jsonText(body, encoding), LIMIT)).answer).toEqual(RUNNING_ANSWER);
});

const noJson = "The service's answer is no JSON.";
const noId = "The service's answer cannot be used: id is missing or of another type than documented.";
const noObject = "Expected a JSON object from the service, got something else.";
const tooLong = "The service's answer is longer than 1000 bytes.";
const undecoded = "The service's answer cannot be decoded.";
const PART = gzipSync(recordTextOf(900));

test.each([
  ["nothing", { text: "" }, noJson, 200],
  ["half a record", { text: '{"id": 42, "canary' }, noJson, 200],
  ["a page", html(200), noJson, 200],
  ["a list", { json: [RUNNING_RECORD] }, noObject, 200],
  ["null", { json: null }, noObject, 200],
  ["a string", { json: "canary" }, noObject, 200],
  ["a record without an id", { json: { last_status: "running" } }, noId, 200],
  ["a record whose id is text", { json: { ...RUNNING_RECORD, id: "42" } }, noId, 200],
  ["a record whose id is a fraction", { json: { ...RUNNING_RECORD, id: 4.2 } }, noId, 200],
  ["a record beyond MAX_JSON_BYTES", jsonText(recordTextOf(1_001)), tooLong, null],
  ["one that is compressed to less", jsonText(gzipSync(recordTextOf(1_001)), "gzip"), tooLong, null],
  ["one compressed to a thousandth", jsonText(gzipSync(recordTextOf(900_000)), "gzip"), tooLong, null],
  ["gzip that was never compressed", jsonText(RECORD_TEXT, "gzip"), undecoded, null],
  ["a part of gzip", jsonText(PART.subarray(0, -12), "gzip"), undecoded, null],
  ["damaged gzip", jsonText(Buffer.from(PART).fill(7, 12, 30), "gzip"), undecoded, null],
  ["deflate that was never compressed", jsonText(RECORD_TEXT, "deflate"), undecoded, null],
  ["br that was never compressed", jsonText(RECORD_TEXT, "br"), undecoded, null],
] satisfies [string, Told, string, number | null][])(
  "an answer of 200 that is %s is UPSTREAM_BAD_RESPONSE",
  async (_, told, message, status) => {
    const { answer, calls } = await askOf(told, LIMIT);
    const upstream = { ...STATUS_UPSTREAM, ...(status !== null && { status }) };
    expect(answer).toEqual(failedStatus("UPSTREAM_BAD_RESPONSE", message, { upstream }));
    expect(calls).toEqual([STATUS_CALL]);
  },
);

test.each([
  ["is compressed", gzipSync('{"detail": "It is locked."}'), "It is locked."],
  ["cannot be decoded", PAGE, "The record is in a state that does not allow this."],
])("a refusal that %s keeps its code", async (_, text, message) => {
  const { answer } = await askOf({ ...jsonText(text, "gzip"), status: 409 });
  const upstream = { ...STATUS_UPSTREAM, status: 409 };
  expect(answer).toEqual(failedStatus("CONFLICT", message, { upstream }));
});

test("NaN, Infinity and a byte order mark do not make an answer unreadable", async () => {
  const text = `\uFEFF{"id": 42, "last_metric": {"a": NaN, "b": -Infinity, "c": 1}}`;
  const service = await startFake(() => jsonText(text));
  const { ask } = await startGateway({ upstream: service });
  expect(await ask(`{ experiment(id: "ada.mnist.42") { latestMetrics { name value raw } } }`)).toEqual({
    data: {
      experiment: {
        latestMetrics: [
          { name: "a", value: null, raw: null },
          { name: "b", value: null, raw: null },
          { name: "c", value: 1, raw: 1 },
        ],
      },
    },
  });
});
