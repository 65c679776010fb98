import { describe, expect, test } from "vitest";
import { codesOf } from "../support/errors.ts";
import type { FakeResponse } from "../support/fake.ts";
import { type Answer, startBefore } from "../support/gateway.ts";
import { ASK_STATUS, jsonText, RUNNING_ANSWER, RUNNING_RECORD } from "../support/one-read.ts";
import { JSON_BODY, sendTo } from "../support/raw-requests.ts";

const RECORDS = { "ada/mnist/experiments/42/": RUNNING_RECORD };

/** Nested objects `{"a":{"a":…}}`, or nested lists. */
const nested = (depth: number, [open, inner, close]: readonly [string, string, string] = ["[", "", "]"]) =>
  open.repeat(depth) + inner + close.repeat(depth);
const OBJECTS = ['{"a":', "1", "}"] as const;

describe("an upstream response cannot crash the gateway", () => {
  test.each([
    ["lists in lists", nested(100_000)],
    ["objects in objects", nested(100_000, OBJECTS)],
    [
      "lists in lists in a record",
      `{"id": 42, "declarations": ${nested(100_000)}, "name": ${nested(100_000)}}`,
    ],
    ["objects in objects in metrics", `{"id": 42, "last_metric": {"loss": ${nested(100_000, OBJECTS)}}}`],
    ["a record with deeply nested YAML", JSON.stringify({ id: 42, content: nested(20_000) })],
  ])("by its depth: %s", async (_, text) => {
    let reported: FakeResponse = jsonText(text);
    const { ask } = await startBefore(() => reported);
    const query = `{ experiment(id: "ada.mnist.42") { name parameters { name value } latestMetrics { raw } config { cmd: version } } gateway { __typename } }`;
    const answer = (await ask(query)) as Answer<{ gateway: object }>;
    expect(codesOf(answer)).not.toContain("INTERNAL_SERVER_ERROR");
    expect(answer.data.gateway).toEqual({ __typename: "GatewayInfo" });
    reported = { ...jsonText(text), status: 400 };
    expect(codesOf((await ask(ASK_STATUS)) as Answer<unknown>)).toEqual(["BAD_USER_INPUT"]);
    reported = { json: RUNNING_RECORD };
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
  });
});

describe("a request cannot crash the gateway", () => {
  const query = JSON.stringify(
    `mutation($i:ID!,$d:JSON!){restartExperiment(id:$i,input:{parameters:[{name:"a",value:$d}]}){__typename}}`,
  );
  test.each([
    ["lists in lists", nested(100_000)],
    ["a query of brackets", JSON.stringify({ query: nested(100_000, ["{a", "", "}"]) })],
    ["a query of brackets never closed", JSON.stringify({ query: "{a".repeat(100_000) })],
    ["lists as an argument", JSON.stringify({ query: `{ experiment(id: ${nested(50_000)}) { id } }` })],
    ["deep variables", `{"query":${query},"variables":{"i":${nested(60_000)},"d":${nested(60_000)}}}`],
    ["deep extensions", `{"query": "{ __typename }", "extensions": ${nested(40_000, OBJECTS)}}`],
  ])("by the depth of its JSON: %s", async (_, body) => {
    const { url, ask } = await startBefore(RECORDS);
    const { status, text } = await sendTo(`${url}/graphql`, { body, headers: JSON_BODY });
    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/INTERNAL_SERVER_ERROR| {4}at |node_modules/);
    expect(await ask(ASK_STATUS)).toEqual(RUNNING_ANSWER);
  });
});
