import { describe, expect, test } from "vitest";
import { startFake, type Told } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import {
  ASK_STATUS,
  askOf,
  expectNothingLeaked,
  failedStatus,
  RUNNING_RECORD,
  SECRET_TOKEN,
  STATUS_CALL,
  STATUS_UPSTREAM,
} from "../support/one-read.ts";
import { html } from "../support/replies.ts";

const noJson = "The service's answer is no JSON.";

const noId = "The service's answer cannot be used: id is missing or of another type than documented.";

const noObject = "Expected a JSON object from the service, got something else.";

describe("an answer of 200 that is no record becomes an error", () => {
  test.each([
    ["nothing", { text: "" }, noJson],
    ["half a record", { text: '{"id": 42, "canary' }, noJson],
    ["a page", html(200), noJson],
    ["a list", { json: [RUNNING_RECORD] }, noObject],
    ["null", { json: null }, noObject],
    ["a string", { json: "canary" }, noObject],
    ["a record without an id", { json: { last_status: "running" } }, noId],
    ["a record whose id is text", { json: { ...RUNNING_RECORD, id: "42" } }, noId],
    ["a record whose id is a fraction", { json: { ...RUNNING_RECORD, id: 4.2 } }, noId],
  ] satisfies [string, Told, string][])("%s", async (_, told, message) => {
    const { answer, calls } = await askOf(told);
    expect(answer).toEqual(
      failedStatus("UPSTREAM_BAD_RESPONSE", message, { upstream: { ...STATUS_UPSTREAM, status: 200 } }),
    );
    expect(calls).toEqual([STATUS_CALL]);
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

test("an answer that is no HTTP is UPSTREAM_BAD_RESPONSE", async () => {
  const url = await listen((request) => void request.socket.end("canary canary\r\n\r\n"));
  const { ask, logged } = await startGateway({ upstream: { url }, token: SECRET_TOKEN });
  const answer = await ask(ASK_STATUS, {}, { headers: { "x-request-id": "story-1" } });
  expect(answer).toEqual(
    failedStatus("UPSTREAM_BAD_RESPONSE", "The service's answer cannot be decoded.", {
      upstream: STATUS_UPSTREAM,
    }),
  );
  expectNothingLeaked(answer, logged(), url);
});
