import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import {
  askOf,
  failedStatus,
  jsonText,
  RECORD_TEXT,
  recordTextOf,
  RUNNING_ANSWER,
  STATUS_CALL,
  STATUS_UPSTREAM,
} from "../support/one-read.ts";
import { PAGE } from "../support/replies.ts";

test("an answer as long as the limit is read", async () => {
  expect((await askOf(jsonText(recordTextOf(1_000)), { MAX_JSON_BYTES: "1000" })).answer).toEqual(
    RUNNING_ANSWER,
  );
});

test.each([
  ["plain", jsonText(recordTextOf(1_001))],
  ["compressed to less", jsonText(gzipSync(recordTextOf(1_001)), "gzip")],
  ["compressed to a thousandth", jsonText(gzipSync(recordTextOf(20_000_000)), "gzip")],
])("an answer longer than the limit is given up: %s", async (_, told) => {
  const { answer, calls } = await askOf(told, { MAX_JSON_BYTES: "1000" });
  expect(answer).toEqual(
    failedStatus("UPSTREAM_BAD_RESPONSE", "The service's answer is longer than 1000 bytes.", {
      upstream: STATUS_UPSTREAM,
    }),
  );
  expect(calls).toEqual([STATUS_CALL]);
});

test.each([
  ["gzip", gzipSync(RECORD_TEXT)],
  ["x-gzip", gzipSync(RECORD_TEXT)],
  ["deflate", deflateSync(RECORD_TEXT)],
  ["br", brotliCompressSync(RECORD_TEXT)],
  ["gzip, br", brotliCompressSync(gzipSync(RECORD_TEXT))],
  ["identity", RECORD_TEXT],
])("an answer in the encoding %s is read, although nobody asked for it", async (encoding, body) => {
  expect((await askOf(jsonText(body, encoding))).answer).toEqual(RUNNING_ANSWER);
});

test.each([
  ["gzip", "text that was never compressed", RECORD_TEXT],
  ["gzip", "a part", gzipSync(recordTextOf(5_000)).subarray(0, -12)],
  ["gzip", "a damaged part", gzipSync(recordTextOf(5_000)).fill(7, 12, 30)],
  ["deflate", "text that was never compressed", RECORD_TEXT],
  ["br", "text that was never compressed", RECORD_TEXT],
])("an answer that says %s and is %s cannot be decoded", async (encoding, _, body) => {
  const { answer, calls } = await askOf(jsonText(body, encoding));
  expect(answer).toEqual(
    failedStatus("UPSTREAM_BAD_RESPONSE", "The service's answer cannot be decoded.", {
      upstream: STATUS_UPSTREAM,
    }),
  );
  expect(calls).toEqual([STATUS_CALL]);
});

test("a refusal that arrives compressed is read too", async () => {
  const { answer } = await askOf({
    ...jsonText(gzipSync(JSON.stringify({ detail: "Unknown key." })), "gzip"),
    status: 400,
  });
  expect(answer).toEqual(
    failedStatus("BAD_USER_INPUT", "Unknown key.", { upstream: { ...STATUS_UPSTREAM, status: 400 } }),
  );
});

test.each([
  ["in an encoding that nobody knows", "canary"],
  ["in an encoding that is a word of the language", "constructor"],
  ["in more encodings than anybody means", Array.from({ length: 20 }, () => "gzip").join(", ")],
])("an answer %s cannot be decoded", async (_, encoding) => {
  const { answer } = await askOf(jsonText(RECORD_TEXT, encoding));
  expect(answer).toEqual(
    failedStatus("UPSTREAM_BAD_RESPONSE", "The service's answer cannot be decoded.", {
      upstream: STATUS_UPSTREAM,
    }),
  );
});

test("a refusal that cannot be decoded keeps its code", async () => {
  const { answer } = await askOf({ ...jsonText(PAGE, "gzip"), status: 409 });
  expect(answer).toEqual(
    failedStatus("CONFLICT", "The record is in a state that does not allow this.", {
      upstream: { ...STATUS_UPSTREAM, status: 409 },
    }),
  );
});
