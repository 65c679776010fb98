import { expect, test } from "vitest";
import { refused } from "../support/any-command.ts";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { type FakeResponse, startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { detail, html } from "../support/replies.ts";

const RECORD = `mutation ($values: [MetricValueInput!]!) {
  createExperimentMetrics(id: "ada.mnist.3", records: [{ values: [{ name: "a", value: 1 }] }, { values: $values }]) {
    results { outcome }
  }
}`;

test.each([
  ["without a value", [], "records[1].values: expected at least one metric, got none"],
  [
    "with a name twice",
    ["loss", "epoch", "loss"],
    `records[1].values[2].name: expected each name once, got "loss" again`,
  ],
  ["without a name", [""], `records[1].values[0].name: expected a name, got ""`],
  ["with a blank name", ["loss", " \t"], `records[1].values[1].name: expected a name, got " \\t"`],
])("refuses all records before the first is sent if one is %s", async (_, names, message) => {
  const { data, errors, seen } = await refused(RECORD, { values: names.map((name) => ({ name, value: 1 })) });
  expect(outcomeOf({ data, errors })).toEqual({
    data: { createExperimentMetrics: null },
    errors: [failure("createExperimentMetrics", "BAD_USER_INPUT", message)],
  });
  expect(seen).toEqual([]);
});

const one = (value: string, variable = "") =>
  `mutation ${variable} { createExperimentMetrics(id: "ada.mnist.3", records: [{ values: [{ name: "loss", value: ${value} }] }]) { results { outcome } } }`;

test.each([
  ["-1e999 in the variables", RECORD, `{"values": [{"name": "loss", "value": -1e999}]}`],
  ["1e999 in one variable", one("$value", "($value: Float!)"), `{"value": 1e999}`],
  ["1e999 in the document", one("1e999"), "{}"],
  ["text", RECORD, `{"values": [{"name": "loss", "value": "NaN"}]}`],
])("a non-finite metric value returns BAD_USER_INPUT and sends nothing: %s", async (_, query, variables) => {
  const { codes, seen } = await refused(query, variables);
  expect([codes, seen]).toEqual([["BAD_USER_INPUT"], []]);
});

const MANY = `mutation ($records: [MetricRecordInput!]!) {
  createExperimentMetrics(id: "ada.mnist.3", records: $records) {
    results { outcome code message retryAfterSeconds metric { internalId values { name value } } }
  }
}`;

const recordsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ values: [{ name: "loss", value: index }] }));

const POST = "POST ada/mnist/experiments/3/metrics";

/** Sends records to a service that responds to one of them with a record other than the new one. */
async function record(count: number, replies: Readonly<Record<number, FakeResponse>> = {}, env = {}) {
  let round = 0;
  const service = await startFake(({ body }) => {
    const id = ++round;
    return replies[id] ?? { json: { id, ...(JSON.parse(body) as object) }, status: 201 };
  });
  const { ask } = await startGateway({ upstream: service, env });
  const answer = await ask<{ createExperimentMetrics: { results: readonly Result[] } | null }, object>(
    MANY as never,
    { records: recordsOf(count) },
  );
  return { answer, results: answer.data.createExperimentMetrics?.results, service };
}

interface Result {
  readonly outcome: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly retryAfterSeconds: number | null;
  readonly metric: object | null;
}

const done = (index: number): Result => ({
  outcome: "DONE",
  code: null,
  message: null,
  retryAfterSeconds: null,
  metric: { internalId: `${index + 1}`, values: [{ name: "loss", value: index }] },
});

const failed = (outcome: string, code: string, message: string, retryAfterSeconds: number | null = null) => ({
  outcome,
  code,
  message,
  retryAfterSeconds,
  metric: null,
});

const LATER = "Not sent, because an earlier record was not recorded.";

test("records several records in their order with one request each", async () => {
  const { answer, results, service } = await record(3);
  expect(results).toEqual([0, 1, 2].map(done));
  expect(answer.errors).toBeUndefined();
  expect(service.seen().map(({ body }) => JSON.parse(body) as unknown)).toEqual(
    [0, 1, 2].map((loss) => ({ values: { loss } })),
  );
  expect(service.inOrder()).toEqual([POST, POST, POST]);
});

test("sends the remaining records if the service rejects one record's values", async () => {
  const { results, service } = await record(3, { 2: detail(400, "Odd.") });
  expect(results).toEqual([done(0), failed("REFUSED", "BAD_USER_INPUT", "Odd."), done(2)]);
  expect(service.inOrder()).toEqual([POST, POST, POST]);
});

test.each<[FakeResponse, Result]>([
  [detail(403, "No."), failed("REFUSED", "FORBIDDEN", "No.")],
  [html(500), failed("UNKNOWN", "UPSTREAM_ERROR", "The service answered 500.")],
])("sends no record after one that failed with %j", async (reply, result) => {
  const { results, answer, service } = await record(4, { 2: reply });
  const left = failed("NOT_SENT", `${result.code}`, LATER);
  expect(results).toEqual([done(0), result, left, left]);
  expect(answer.errors).toBeUndefined();
  expect(service.inOrder()).toEqual([POST, POST]);
});

test("reports for each record that the run does not exist", async () => {
  const { results, service } = await record(2, { 1: detail(404, "Not found.") });
  expect(results?.map(({ outcome, code }) => [outcome, code])).toEqual([
    ["NOT_FOUND", "NOT_FOUND"],
    ["NOT_FOUND", "NOT_FOUND"],
  ]);
  expect(service.inOrder()).toEqual([POST]);
});

test("sends no record that the rate limit of metrics would certainly reject", async () => {
  const { results, service } = await record(23, {}, { ...RELEASE_04, UPSTREAM_RETRIES: "2" });
  const sent = service.inOrder().length;
  // On a slow machine, twenty take longer than a second.
  expect(sent).toBeGreaterThanOrEqual(20);
  expect(results?.slice(0, sent)).toEqual(Array.from({ length: sent }, (_, index) => done(index)));
  for (const result of results?.slice(sent) ?? [])
    expect(result).toMatchObject({ outcome: "NOT_SENT", code: "RATE_LIMITED", retryAfterSeconds: 1 });
});

test("stops at a 429 and reports when to continue", async () => {
  const throttled = { ...detail(429, "Slow."), headers: { "retry-after": "7" } };
  const { results, service } = await record(3, { 2: throttled }, RELEASE_04);
  expect(results?.map(({ outcome, retryAfterSeconds }) => [outcome, retryAfterSeconds])).toEqual([
    ["DONE", null],
    ["REFUSED", 7],
    ["NOT_SENT", 7],
  ]);
  expect(service.inOrder()).toEqual([POST, POST]);
});

test("sends records up to the operation's request limit", async () => {
  const { results, service } = await record(3, {}, { MAX_UPSTREAM_REQUESTS: "2" });
  expect(results?.map(({ outcome, code }) => [outcome, code])).toEqual([
    ["DONE", null],
    ["DONE", null],
    ["NOT_SENT", "REQUEST_LIMIT_EXCEEDED"],
  ]);
  expect(service.inOrder()).toEqual([POST, POST]);
});

test.each([0, 101])("refuses %i records", async (count) => {
  const { answer, service } = await record(count);
  expect(codesOf(answer)).toEqual(["BAD_USER_INPUT"]);
  expect(answer.errors?.[0]?.message).toBe(`records: expected 1 to 100 records, got ${count}`);
  expect(service.seen()).toEqual([]);
});
