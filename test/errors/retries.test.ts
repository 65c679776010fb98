import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startFake, type Told } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import {
  ASK_STATUS,
  expectNothingLeaked,
  failedStatus,
  RECORD_TEXT,
  recordTextOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  SECRET_TOKEN,
  STATUS_CALL,
  STATUS_UPSTREAM,
} from "../support/one-read.ts";
import { html } from "../support/replies.ts";

/** A service whose n-th answer is the n-th of these; the last one stays. */
async function startSequence(...answers: Told[]) {
  let asked = 0;
  return startFake(() => answers[Math.min(asked++, answers.length - 1)]);
}

describe("a read is tried again", () => {
  test.each([502, 503, 504])("when the service answers %i once", async (status) => {
    const service = await startSequence(html(status), { json: RUNNING_RECORD });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test("twice and no more", async () => {
    const service = await startSequence(html(503));
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK_STATUS, {}, { headers: { "x-request-id": "story-1" } })).toEqual(
      failedStatus("UPSTREAM_UNAVAILABLE", "The service is not ready.", {
        upstream: { ...STATUS_UPSTREAM, status: 503 },
      }),
    );
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL, STATUS_CALL]);
  });

  test.each([400, 401, 403, 404, 409, 429, 500])("never when it answers %i", async (status) => {
    const service = await startSequence({ status, json: {} }, { json: RUNNING_RECORD });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK_STATUS)).toHaveProperty("data", { experiment: null });
    expect(service.calls()).toEqual([STATUS_CALL]);
  });

  test("not when the service asks for more patience than the gateway has", async () => {
    const later = { status: 503, json: {}, headers: { "retry-after": "3600" } };
    const service = await startSequence(later, { json: RUNNING_RECORD });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK_STATUS, {}, { headers: { "x-request-id": "story-1" } })).toEqual(
      failedStatus("UPSTREAM_UNAVAILABLE", "The service is not ready.", {
        upstream: { ...STATUS_UPSTREAM, status: 503 },
        retryAfterSeconds: 300,
      }),
    );
    expect(service.calls()).toEqual([STATUS_CALL]);
  });

  test("when the service asks for a short patience", async () => {
    const soon = { status: 503, json: {}, headers: { "retry-after": "1" } };
    const service = await startSequence(soon, { json: RUNNING_RECORD });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test("once, after the time that a throttling service asks for", async () => {
    const throttled = { status: 429, json: {}, headers: { "retry-after": "1" } };
    const service = await startSequence(throttled, { json: RUNNING_RECORD });
    const { ask } = await startGateway({ upstream: service });
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test("but no second time when the service throttles again", async () => {
    const service = await startSequence({ status: 429, json: {}, headers: { "retry-after": "1" } });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK_STATUS, {}, { headers: { "x-request-id": "story-1" } })).toEqual(
      failedStatus("RATE_LIMITED", "The service allows no more requests for now.", {
        upstream: { ...STATUS_UPSTREAM, status: 429 },
        retryAfterSeconds: 1,
      }),
    );
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  const WHOLE = gzipSync(recordTextOf(5_000));
  test.each([
    ["before its answer", null, {}],
    ["in the middle of its answer", RECORD_TEXT.slice(0, 9), {}],
    ["in the middle of a compressed answer", WHOLE.subarray(0, 30), { "content-encoding": "gzip" }],
  ])("when the connection breaks %s", async (_, part, headers) => {
    let asked = 0;
    const url = await listen((_request, response) => {
      if (++asked > 1) return void response.end(RECORD_TEXT);
      if (part === null) return void response.destroy();
      response.writeHead(200, { ...headers, "content-length": 5_000 });
      response.write(part, () => response.destroy());
    });
    const { ask } = await startGateway({ upstream: { url }, env: { UPSTREAM_RETRIES: "2" } });
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
    expect(asked).toBe(2);
  });
});

test("a connection that breaks in the middle of every answer is UPSTREAM_UNAVAILABLE", async () => {
  const url = await listen((_, response) => {
    response.writeHead(200, { "content-length": 5_000 });
    response.write("canary", () => response.destroy());
  });
  const { ask, logged } = await startGateway({ upstream: { url }, token: SECRET_TOKEN });
  const answer = await ask(ASK_STATUS, {}, { headers: { "x-request-id": "story-1" } });
  expect(answer).toEqual(
    failedStatus("UPSTREAM_UNAVAILABLE", "The service is out of reach.", { upstream: STATUS_UPSTREAM }),
  );
  expectNothingLeaked(answer, logged(), url);
});
